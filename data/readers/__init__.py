"""Readers of engine outputs, one small file a format: each turns text into run records and says what it lacks."""

from .aiperf import AIPERF
from .dspark_bench import DSPARK_BENCH
from .form import Conversion, Format, ReaderOptions
from .llamacpp import LLAMACPP
from .recognition import recognised
from .sglang import SGLANG
from .sidecar import declared
from .source import Source
from .vllm_bench import VLLM_BENCH
from .vllm_log import VLLM_LOG
from .vllm_metrics import VLLM_METRICS
from .vllm_requests import VLLM_REQUESTS

FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        VLLM_METRICS,
        VLLM_LOG,
        VLLM_REQUESTS,
        VLLM_BENCH,
        AIPERF,
        LLAMACPP,
        SGLANG,
        DSPARK_BENCH,
    )
}
"""Every format that can be read, by the name that `convert` takes."""

__all__ = ["FORMATS", "Conversion", "Format", "ReaderOptions", "Source", "declared", "recognised"]
