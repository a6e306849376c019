"""Finds the trials of a DSpark bench file: its containers, and the one prompt and context that are meant."""

from collections.abc import Iterable, Sequence

from .json_source import Entry, entries_of, refuse, shown

CONTAINERS = ("trials", "cases", "results")


def trials_of(source: object) -> tuple[Entry, list[Entry]]:
    """The file's head and its trials, whatever the container is called."""
    if isinstance(source, list):
        return Entry({}, ""), entries_of(source, "trials")
    if not isinstance(source, dict):
        refuse("text", "JSON that is no object", "an object with trials, cases or results would do")
    head = Entry(source, "")
    there = [name for name in CONTAINERS if source.get(name) is not None]
    if len(there) > 1:
        refuse(there[1], f"trials beside those in {there[0]}", "one container would do")
    trials = entries_of(source[there[0]], there[0]) if there else [head]
    if not trials:
        refuse(there[0], "an empty list", "at least one trial would do")
    for trial in trials:
        if not {"spec_decode", "streams"} & set(trial.fields):
            where = trial.where or "text"
            refuse(where, "no spec_decode and no streams", "trials, cases or results of the bench would do")
    return head, trials


def selected(head: Entry, trials: list[Entry], select: str | None) -> list[Entry]:
    """The trials of the one prompt that is meant; a suite is one prompt on one target."""
    names = [trial.text("prompt") or head.text("prompt") for trial in trials]
    if select is not None:
        trials = [trial for trial, name in zip(trials, names, strict=True) if name == select]
        if not trials:
            refuse("prompt", _listed(names), "the option select takes one of these")
    elif len(set(names)) > 1:
        refuse("prompt", _listed(names), "the option select would name the one that is meant")
    hashes = {trial.text("prompt_sha256") or head.text("prompt_sha256") for trial in trials}
    if len(hashes) > 1:
        refuse("prompt_sha256", f"{len(hashes)} prompts", "one prompt would do, a suite has no more")
    _of_one_context(trials)
    return trials


def _listed(names: Iterable[str | None]) -> str:
    known = sorted({shown(name) for name in names if name is not None})
    return f"{len(known)} prompts: {', '.join(known[:12])}" if known else "no name of a prompt"


def _of_one_context(trials: Sequence[Entry]) -> None:
    """Refuse trials whose prompts are of plainly different lengths: one nominal context stands for all of them."""
    lengths: list[int] = []
    for trial in trials:
        tokens = [stream.count("prompt_tokens") for stream in trial.entries("streams") or []]
        known = sorted(one for one in tokens if one is not None)
        lengths += known[len(known) // 2 : len(known) // 2 + 1]
    if lengths and max(lengths) > 2 * min(lengths) + 256:
        refuse("streams[].prompt_tokens", f"prompts of {min(lengths)} to {max(lengths)} tokens",
               "trials of one context would do")  # fmt: skip
