"""Small dspark-bench files that tests make up, and how they are read."""

import json
from dataclasses import replace
from typing import Any

from draftdepth.data.readers import FORMATS, Conversion, ReaderOptions, Source

SECRET = "the prompt nobody may see"
BENCH = FORMATS["dspark-bench"]


def options(**more: Any) -> ReaderOptions:
    return replace(ReaderOptions("kettle", "two-nodes", context_tokens=0), **more)


def trial(number: int | None = 1, **counters: Any) -> dict[str, Any]:
    """Ten rounds at concurrency 2; (10 / 2 + 1) * 0.8 = 4.8 chunks are the fewest that give a step time."""
    spec = {
        "enabled": True,
        "num_drafts": 10,
        "draft_tokens": 30,
        "accepted_tokens": 14,
        "accepted_tokens_per_position": [8, 5, 1],
    }
    return {
        "concurrency": 2,
        "trial": number,
        "streams": [
            {"chunks": 5, "decode_s": 0.5, "prompt_tokens": 40, "output": SECRET},
            {"chunks": 4, "decode_s": 0.4, "prompt_tokens": 40, "output_sha256": SECRET},
        ],
        "spec_decode": {name: value for name, value in (spec | counters).items() if value != "absent"},
    }


def read(text: str | bytes, **more: Any) -> Conversion:
    return BENCH.convert([Source.of_text(text)], options(**more))


def convert(*trials: dict[str, Any], container: str = "trials", **more: Any) -> Conversion:
    return read(json.dumps({"model": SECRET, container: list(trials)}), **more)
