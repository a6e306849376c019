"""Small inputs of every engine that tests make up; their counts were chosen first and written down from them."""

import json
from typing import Any

from draftdepth.data.readers import FORMATS, Conversion, ReaderOptions, Source

SECRET = "swordfish: a prompt that nobody may see"
FIXED, DYNAMIC = {"policy_kind": "fixed"}, {"policy_kind": "dynamic"}
HALVES = [60, 30, 15]
BORN = 'vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} '
"""Before the time at which a vLLM counter was made."""


def options(**more: Any) -> ReaderOptions:
    """A suite, a worker, a batch and a fixed depth; a change to None takes one away."""
    given: dict[str, Any] = {"suite": "kettle", "worker": "w", "batch": 4, "policy_kind": "fixed"} | more
    return ReaderOptions(**{name: value for name, value in given.items() if value is not None})


def read(form: str, *texts: str | bytes, **more: Any) -> Conversion:
    """Read texts in one format."""
    return FORMATS[form].convert([Source.of_text(text) for text in texts], options(**more))


def facts(done: Conversion) -> list[tuple[int, list[int]]]:
    """Rounds and accepted counts of each record."""
    return [(record["request_rounds"], record["accepted_position"]) for record in done.records]


def scrape(
    rounds: int, accepted: list[int], drafted: int | None = None, engine: str = "0", extra: str = "", **more: Any
) -> str:
    """Prometheus text of one engine; `more` replaces a total."""
    totals = {
        "drafts": rounds,
        "draft_tokens": len(accepted) * rounds if drafted is None else drafted,
        "accepted_tokens": sum(accepted),
    } | more
    name = "vllm:spec_decode_num_"
    lines = ["# HELP vllm:spec_decode_num_drafts_total Number of drafts.", 'vllm:other{a="b"} 1.0']
    for total, count in totals.items():
        lines.append(f'{name}{total}_total{{engine="{engine}",{extra}model_name="m"}} {float(count)}')
    for place, count in enumerate(accepted):
        label = f'engine="{engine}",{extra}model_name="m",position="{place}"'
        lines.append(f"{name}accepted_tokens_per_pos_total{{{label}}} {float(count)}")
    return "\n".join(lines) + "\n"


def window(
    rounds: int, accepted: list[int], drafted: int | None = None, when: str = "07-18 20:26:54", **more: Any
) -> str:
    """One SpecDecoding line with what those counts print."""
    drafted = len(accepted) * rounds if drafted is None else drafted
    total = more.get("total", sum(accepted))
    rates = ", ".join(f"{count / rounds:.3f}" for count in accepted)
    mean = more.get("mean", f"{1 + sum(accepted) / rounds:.2f}")
    return (
        f"(APIServer pid=1) INFO {when} [metrics.py:120] SpecDecoding metrics: Mean acceptance length: {mean}, "
        f"{more.get('field', '')}Accepted throughput: 1.00 tokens/s, Drafted throughput: 2.00 tokens/s, Accepted: "
        f"{total} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, Avg Draft acceptance "
        f"rate: 50.0%\n"
    )


def payload(steps: list[tuple[int, int]], block: int, detail: str = "steps", **more: Any) -> dict[str, Any]:
    """A response with the rounds (drafted, accepted) of one request."""
    histogram = [sum(accepted == length for _, accepted in steps) for length in range(block + 1)]
    by_length = {
        str(drafted): [sum(step == (drafted, length) for step in steps) for length in range(block + 1)]
        for drafted in sorted({drafted for drafted, _ in steps})
    }
    fields: dict[str, Any] = {
        "acceptance_histogram": histogram,
        "num_spec_steps": len(steps),
        "num_accepted_draft_tokens": sum(accepted for _, accepted in steps),
        "num_draft_tokens": sum(drafted for drafted, _ in steps),
        "num_spec_tokens": block,
    }
    if detail == "steps":
        fields |= {"per_step_drafted": [one for one, _ in steps], "per_step_accepted": [one for _, one in steps]}
    if detail == "lengths":
        fields["acceptance_histogram_by_draft_length"] = by_length
    return {"choices": [{"text": SECRET}], "metrics": {"speculative_decoding": fields | more}}


def lines(*rows: Any) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def bench(rounds: int, accepted: list[int], **more: Any) -> dict[str, Any]:
    """A result of vllm bench serve."""
    result: dict[str, Any] = {
        "model_id": SECRET, "completed": 8, "failed": 0, "max_concurrency": 4, "max_concurrent_requests": 4,
        "num_prompts": 8, "request_rate": "inf", "mean_tpot_ms": 6.0, "median_itl_ms": 10.0,
        "spec_decode_acceptance_rate": 100.0 * sum(accepted) / (len(accepted) * rounds) if rounds else 0.0,
        "spec_decode_num_drafts": rounds, "spec_decode_draft_tokens": rounds * len(accepted),
        "spec_decode_accepted_tokens": sum(accepted),
        "spec_decode_per_position_acceptance_rates": [one / rounds if rounds else 0.0 for one in accepted],
    }  # fmt: skip
    return {name: value for name, value in (result | more).items() if value is not ...}


def printed(rounds: int, accepted: list[int]) -> str:
    """What vllm bench serve prints."""
    rates = "".join(f"  Position {place}:      {100 * one / rounds:.2f}\n" for place, one in enumerate(accepted))
    return (
        "============ Serving Benchmark Result ============\nMaximum request concurrency:    4\n"
        "---------------Speculative Decoding---------------\nAcceptance rate (%):       50.00\n"
        f"Drafts:                {rounds}\nDraft tokens:          {rounds * len(accepted)}\n"
        f"Accepted tokens:       {sum(accepted)}\nPer-position acceptance (%):\n{rates}"
        "==================================================\n"
    )


def llama(rounds: int, accepted: list[int], drafted: int | None = None, rates: bool = True, task: int = 0) -> str:
    """One request of a llama.cpp log."""
    drafted = rounds * len(accepted) if drafted is None else drafted
    told = ", ".join(f"{one / rounds:.3f}" for one in accepted)
    total = sum(accepted)
    mean = f"{1 + total / rounds:5.2f}"
    end = f"mean acceptance length = {mean}, acceptance rate per position = ({told})" if rates else f"mean len = {mean}"
    return (
        f"0.06.895.999 I slot print_timing: id  1 | task {task} |       total time =    2596.83 ms /   276 tokens\n"
        f"0.06.896.015 I slot print_timing: id  1 | task {task} | draft acceptance = {total / drafted:.5f} "
        f"(  {total} accepted /   {drafted} generated), {end}\n"
    )


def statistics(rounds: int, accepted: list[int], kind: str = "draft-mtp") -> str:
    """The line of a llama.cpp server's life."""
    told = ", ".join(f"{one / rounds:.3f}" for one in accepted)
    return (
        f"0.06.896.057 I statistics   {kind}: #calls(b,g,a) =    1 {rounds} {rounds}, #gen drafts = {rounds}, #acc "
        f"drafts = {accepted[0]}, #gen tokens = {rounds * len(accepted)}, #acc tokens = {sum(accepted)}, #mean acc len "
        f"= 2.92, #acc rate/pos = ({told}), dur(b,g,a) = 0.005, 325.555, 0.114 ms\n"
    )


def meta(histogram: list[int], **more: Any) -> dict[str, Any]:
    """A response of SGLang."""
    rounds, correct = sum(histogram), sum(length * count for length, count in enumerate(histogram))
    fields = {
        "spec_verify_ct": rounds, "spec_accepted_drafts": correct, "spec_accept_histogram": histogram,
        "spec_proposed_drafts": rounds * (len(histogram) - 1), "completion_tokens": rounds + correct,
        "spec_accept_rate": 0.5, "spec_accept_length": 1 + correct / rounds if rounds else 0.0,
    }  # fmt: skip
    return {"text": SECRET, "meta_info": {name: value for name, value in (fields | more).items() if value is not ...}}


def trtllm(histogram: list[int], **more: Any) -> dict[str, Any]:
    """A payload of TensorRT-LLM."""
    rounds, accepted = sum(histogram), sum(length * count for length, count in enumerate(histogram))
    block = len(histogram) - 1
    fields = {"total_accepted_draft_tokens": accepted, "total_draft_tokens": block * rounds, "num_spec_steps": rounds,
              "acceptance_histogram": histogram, "num_spec_tokens": block}  # fmt: skip
    return {"trtllm": fields | more}


def aiperf(steps: list[tuple[int, int]], block: int, gaps: list[float] | None = None, **more: Any) -> dict[str, Any]:
    """A record of AIPerf's export."""
    fields = payload(steps, block)["metrics"]["speculative_decoding"]
    sparse = {str(length): count for length, count in enumerate(fields["acceptance_histogram"]) if count}
    fields |= {"engine": "vllm", "acceptance_histogram": sparse, "mean_acceptance_length": 2.0}
    metrics: dict[str, Any] = {"request_latency": {"value": 900.0, "unit": "ms"}}
    if gaps is not None:
        metrics["inter_chunk_latency"] = {"value": gaps, "unit": "ms"}
    metadata = {"benchmark_phase": "profiling", "x_request_id": SECRET}
    return {"metadata": metadata, "metrics": metrics, "spec_decode_acceptance": fields, "error": None} | more
