"""What engines counted between two scrapes; a server that was started anew in between is refused."""

from ..errors import InputError
from ..records import DEEPEST_RECORD
from .counters import Counted
from .json_source import refuse
from .prometheus import BY_POSITION, EngineCounters, Scrape

_SAME_START = "a server that was not started anew between the scrapes would do"


class RestartError(InputError):
    """Counters that went back or were born anew, or engines that came or went, between two scrapes."""


def counted_between(before: Scrape | None, after: Scrape, where: str) -> Counted:
    """What the engines counted between two scrapes, or until one, summed.

    Raises
    ------
    InputError
        The server was started anew in between, an engine came or went, or positions are missing.
    """
    if before is not None:
        if set(before.engines) != set(after.engines):
            wanted = "the same engines in both scrapes would do"
            raise RestartError(f"{_at(where, 'engines')}: found other ones than before; {wanted}")
        if None not in (before.process_start, after.process_start) and before.process_start != after.process_start:
            raise RestartError(f"{_at(where, 'process_start_time_seconds')}: found another start; {_SAME_START}")
    parts = [
        _difference(before.engines[key] if before else None, engine, where) for key, engine in after.engines.items()
    ]
    block = max(len(part.accepted) for part in parts)
    for part in parts:
        if len(part.accepted) not in (0, block):
            refuse(_at(where, BY_POSITION), f"{len(part.accepted)} positions of an engine",
                   f"{block}, as another engine has, would do")  # fmt: skip
    known = [part.drafted for part in parts if part.drafted is not None]
    totals = [part.total for part in parts if part.total is not None]
    return Counted(
        where=where,
        rounds=sum(part.rounds for part in parts),
        accepted=[sum(part.accepted[place] for part in parts if part.accepted) for place in range(block)],
        total=sum(totals) if len(totals) == len(parts) else None,
        drafted=sum(known) if len(known) == len(parts) else None,
        block=block or None,
    )


def _at(where: str, name: str) -> str:
    return f"{where}: {name}" if where else name


def _difference(before: EngineCounters | None, after: EngineCounters, where: str) -> Counted:
    if before is not None:
        for name, born in before.created.items():
            if after.created.get(name, born) != born:
                raise RestartError(f"{_at(where, '_created')}: found a counter that was born anew; {_SAME_START}")
        if before.rounds is None:
            wanted = "a counter that is there from the start would do"
            refuse(_at(where, "drafts"), "nothing in the scrape before", wanted)
    if after.rounds is None:
        refuse(_at(where, "drafts"), "nothing", "a counter of rounds for each engine would do")
    places = range(len(after.positions))
    if set(after.positions) != set(places) or (not after.positions and not after.silent()):
        missing = next(place for place in range(DEEPEST_RECORD + 1) if place not in after.positions)
        refuse(_at(where, BY_POSITION), f"no position {missing} (counted from 0) of an engine",
               "all positions would do; missing is not zero")  # fmt: skip
    return Counted(
        where=where,
        rounds=_grown((before.rounds or 0) if before else 0, after.rounds, where, "drafts"),
        accepted=[
            _grown(_position(before, place, where), after.positions[place], where, BY_POSITION) for place in places
        ],
        total=_since(before.accepted if before else 0, after.accepted, where, "accepted_tokens"),
        drafted=_since(before.drafted if before else 0, after.drafted, where, "draft_tokens"),
    )


def _position(before: EngineCounters | None, place: int, where: str) -> int:
    if before is None:
        return 0
    if place in before.positions:
        return before.positions[place]
    if before.silent():
        return 0
    refuse(_at(where, BY_POSITION), f"no position {place} (counted from 0) in the scrape before",
           "all positions would do; missing is zero only where nothing was drafted yet")  # fmt: skip


def _since(before: int | None, after: int | None, where: str, name: str) -> int | None:
    return None if before is None or after is None else _grown(before, after, where, name)


def _grown(before: int, after: int, where: str, name: str) -> int:
    if after < before:
        raise RestartError(f"{_at(where, name)}: found {after} after {before}; {_SAME_START}")
    return after - before
