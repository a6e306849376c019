"""Sessions of a plan, turn by turn, and the intervals that its arms are predicted to fall into."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..analysis.plan_schedule import Session, predicted
from ..analysis.plan_sharing import session_minutes
from ..analysis.plan_worlds import Worlds


def quantiles(values: Any) -> dict[str, float]:
    """The 5, 50 and 95 % quantiles by name."""
    return dict(zip(("p05", "p50", "p95"), values, strict=True))


def session_document(worlds: Worlds, number: int, session: Session) -> dict[str, Any]:
    """One session with all of its turns."""
    return {
        "session": number,
        "stage": session.stage,
        "cell": session.cell,
        "layout": session.arrangement.layout,
        "runs": session.runs,
        "rounds": session.rounds,
        "restarts": sum(turn.restart for turn in session.turns),
        "minutes": session_minutes(worlds, session.runs, session.layout, session.rounds_place),
        "order_seed": session.seed,
        "arms": [arm.name for arm in session.arms],
        "turns": [asdict(turn) for turn in session.turns],
    }


def total_document(sessions: Sequence[dict[str, Any]], gpus: int) -> dict[str, Any]:
    """What all sessions take together: minutes of the machine and of its GPUs, runs, starts."""
    minutes = sum(session["minutes"] for session in sessions)
    return {
        "sessions": len(sessions),
        "runs": sum(sum(session["runs"].values()) for session in sessions),
        "restarts": sum(session["restarts"] for session in sessions),
        "minutes": minutes,
        "gpu_minutes": gpus * minutes,
    }


def prediction_documents(worlds: Worlds, sessions: Sequence[Session]) -> list[dict[str, Any]]:
    """The 90 % interval of what each scheduled arm will measure; an arm of several sessions has its longest one's."""
    longest: dict[str, Session] = {}
    for session in sessions:
        for arm in session.arms:
            if arm.name not in longest or session.runs[arm.name] > longest[arm.name].runs[arm.name]:
                longest[arm.name] = session
    out = []
    for arm in worlds.plan.arms:
        if arm.name not in longest:
            continue
        found = predicted(worlds, longest[arm.name], arm)
        row: dict[str, Any] = {"arm": arm.name, "recorded_as": arm.recorded_as, "kind": arm.kind, "depth": arm.depth}
        row |= {
            "label": str(worlds.arms[arm.name].label),
            "runs": longest[arm.name].runs[arm.name],
            "rounds": longest[arm.name].rounds,
        }
        row |= {name: quantiles(values) for name, values in found.items()}
        out.append(row)
    return out
