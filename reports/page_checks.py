"""The checks of a fit, as the page shows them: repetitions of runs, their spread, runs left out, sensitivity to priors."""

from typing import Any

from .page_stored import Stored

type View = dict[str, Any]


PRIOR_WORDS = {
    "s_suite": "spread between suites",
    "s_suite_position": "a suite's own shape",
    "s_cell": "spread between cells",
    "s_run": "spread between runs",
    "s_cell_position": "a cell's own shape",
    "overdispersion": "overdispersion",
    "s_transport": "move to another depth",
    "s_start": "server starts",
    "s_run_time": "step time between runs",
    "s_request_time": "step time between requests",
    "delta": "delta (masked tail)",
    "kappa": "kappa (rejected rounds)",
    "slope": "row slope",
    "overlap": "overlap",
    "overhead_ms": "overhead",
}
"""The prior of each variable in words."""


def _ends(stored: Stored, kind: str, group: str, name: str, place: int, dim: str) -> View:
    at = {dim: place}
    return {
        "observed": stored.number(kind, group, name, **at),
        "low": stored.number(kind, group, f"{name}_low", **at),
        "high": stored.number(kind, group, f"{name}_high", **at),
        "place": stored.number("chance", group, f"{name}_place", **at),
    }


def _worker(stored: Stored, worker: str) -> View:
    outside, runs, spread = (f"{name}/{worker}" for name in ("outside", "repetitions", "spread"))
    return {
        "worker": worker,
        "positions": [
            {
                "position": int(position),
                "runs": stored.number("count", outside, "position_runs", position=position),
                "outside": stored.number("count", outside, "position_outside", position=position),
            }
            for position in stored.labels(outside, "position")
        ],
        **{
            name: {key: stored.number("count", outside, f"{name}_{key}") for key in ("runs", "outside")}
            for name in ("length", "step")
        },
        "runs": [
            {
                "name": stored.word(runs, "run_name", run=place),
                "policy": f"{stored.word(runs, 'policy', run=place)} {stored.word(runs, 'policy_depth', run=place)}",
                "length": _ends(stored, "tokens", runs, "length", place, "run"),
                "step": _ends(stored, "ms", runs, "step", place, "run"),
            }
            for place in range(stored.size(runs, "run"))
        ],
        "spread": [
            {
                "cell": stored.word(spread, "arm_cell", arm=place),
                "policy": stored.word(spread, "arm_policy", arm=place),
                "runs": stored.number("count", spread, "spread_runs", arm=place),
                "length": _ends(stored, "share", spread, "spread", place, "arm"),
            }
            for place in range(stored.size(spread, "arm"))
        ],
    }


def _sensitivity(stored: Stored) -> View:
    priors = [str(name) for name in stored.labels("sensitivity", "prior")]
    return {
        "priors": [PRIOR_WORDS.get(prior, prior) for prior in priors],
        "rows": [
            {
                "cell": cell,
                "values": [
                    stored.number("tokens", "sensitivity", "power_scaling", cell=cell, prior=prior) for prior in priors
                ],
            }
            for cell in stored.labels("sensitivity", "cell")
        ],
    }


def _left_out(stored: Stored, worker: str) -> View:
    group = f"left_out/{worker}"
    rows = []
    for place in range(stored.size(group, "run")):
        length = _ends(stored, "tokens", group, "length", place, "run")
        rows.append(
            {
                "name": stored.word(group, "run_name", run=place),
                "length": length,
                "outside": not length["low"].value <= length["observed"].value <= length["high"].value,
                "elpd": stored.number("rate", group, "elpd", run=place),
                "pareto_k": stored.number("loss", group, "pareto_k", run=place),
                "refitted": bool(stored.number("count", group, "refitted", run=place).value),
                "diverged": stored.number("count", group, "diverged", run=place),
            }
        )
    return {"worker": worker, "runs": rows}


def left_out_view(stored: Stored) -> list[View]:
    """Each run predicted from all others, by worker; empty where `--checks` was not asked for."""
    if "left_out" not in stored:
        return []
    return [_left_out(stored, worker) for worker in stored.members("left_out")]


def checks_view(stored: Stored) -> View:
    """All checks; empty where the result holds none."""
    if "repetitions" not in stored:
        return {}
    return {
        "workers": [_worker(stored, worker) for worker in stored.members("repetitions")],
        "sensitivity": _sensitivity(stored),
    }
