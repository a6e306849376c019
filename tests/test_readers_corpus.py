"""Files that engines and their users published: each converts to the counts that it tells, or is refused with a reason."""

from pathlib import Path
from typing import Any

import pytest
from draftdepth.data.jsonl import read_record_file, usable

from .called import run

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
KNOWN_TO_CONVERT: dict[str, list[tuple[int, list[int]]]] = {
    "vllm-prometheus-mia-k6.prom": [(105, [84, 63, 1, 1, 0, 0])],
    "vllm-server-log-excerpt-phase-c-failure.log": [(2302, [1811, 1293, 852, 574, 359])],
    "vllm-server-log-excerpt-prepared-load.log": [(1458, [1338, 1191, 1051, 913, 780])],
    "vllm-bench-acc_2026-05-22T200425Z.json": [(30058, [21024])],
    "vllm-bench-bench_2026-05-22T195133Z_mtp_bs1.json": [(1178, [867])],
    "vllm-bench-bench_2026-05-22T195133Z_mtp_bs16.json": [(19199, [13494])],
    "vllm-bench-bench_mtp_in2048_bs1.json": [(1, [1])],
    "vllm-bench-tp4_64k_bench_random256_bs8.json": [(4749, [3424])],
    "thread-ggml-org_llama.cpp_PR24536_sample.log": [(87, [70, 55, 42])],
    "thread-llamacpp_gemma4_12b_kvquant_annex.log": [(684, [536, 469, 385, 325])],
    "thread-llamacpp_qwen38_leg7_app-q5km.log": [(206, [173, 138])],
}
DEPTHS = {"PR24536": "3", "gemma4": "4", "qwen38": "2"}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not part of the project")
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: path.name)
def test_every_file_of_the_corpus_converts_or_is_refused_with_a_reason(path: Path, tmp_path: Path) -> None:
    words: list[Any] = ["convert", "auto", path, "-o", tmp_path / "runs.jsonl", "--suite", "s", "--worker", "w"]
    if path.parent.name != "gx10":
        words += ["--batch", "4", "--policy-kind", "fixed"]
    words += [word for part, depth in DEPTHS.items() if part in path.name for word in ("--policy-depth", depth)]
    result = run(*words)
    if result.exit_code == 0:
        written = read_record_file(tmp_path / "runs.jsonl")
        assert usable(written)
        found = [(one.request_rounds, list(one.accepted)) for _, one in written.runs]
        assert path.parent.name == "gx10" or found == KNOWN_TO_CONVERT[path.name]
    else:
        assert result.exit_code == 2
        assert path.name not in KNOWN_TO_CONVERT
        assert "would do" in result.stderr or "would say" in result.stderr or "select" in result.stderr
        assert isinstance(result.exception, SystemExit)
