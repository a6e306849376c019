"""One small text of every format, and the command that converts it."""

import json
from pathlib import Path

from click.testing import Result

from .called import run
from .reader_examples import aiperf, bench, lines, llama, meta, payload, scrape, window

NEEDED = ("--suite", "kettle", "--worker", "w", "--batch", "4", "--policy-kind", "fixed")
EXAMPLES: dict[str, str] = {
    "vllm-metrics": scrape(100, [60, 30, 15]),
    "vllm-log": "INFO 07-18 20:26:53 API server version 0.19\n" + window(100, [60, 30, 15]),
    "vllm-requests": lines(payload([(2, 1), (2, 2)], 2), payload([(2, 0)], 2)),
    "vllm-bench": json.dumps(bench(100, [60, 30])),
    "aiperf": lines(aiperf([(2, 1), (2, 2)], 2)),
    "llamacpp": llama(87, [70, 55, 42], 259),
    "sglang": lines(meta([2, 4, 4])),
    "dspark-bench": json.dumps({"trials": [{"concurrency": 4, "streams": [], "spec_decode": {
        "num_drafts": 9, "draft_tokens": 9, "accepted_tokens": 5, "accepted_tokens_per_position": [5]}}]}),
}  # fmt: skip
MORE = {"llamacpp": ("--policy-depth", "3"), "sglang": ("--policy-depth", "2")}


def convert(folder: Path, text: str | bytes, *words: str, form: str = "auto", name: str = "source") -> Result:
    """The command on one text, its records in `runs.jsonl`."""
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return run("convert", form, folder / name, "-o", folder / "runs.jsonl", *(words or NEEDED))
