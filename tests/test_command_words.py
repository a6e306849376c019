"""Words that the command does not take: one line on stderr that says which help knows better, and exit 2."""

import re
import subprocess
import sys

import pytest

from .called import run


@pytest.mark.parametrize(
    ("words", "said", "whose"),
    [
        (["--nope"], r"no such option '--nope'", ""),
        (["scree"], r"no such command 'scree'\. \(Did you mean one of: 'scrape', 'screen'\?\)", ""),
        (["screen"], r"missing argument 'STUDY'", " screen"),
        (["screen", "sp2"], r"missing option '--out-dir'", " screen"),
        (["screen", "sp2", "more", "--out-dir", "x"], r"got unexpected extra argument \(more\)", " screen"),
        (["reanalyze", "sp2", "--out-dri", "x"], r"no such option '--out-dri'\. Did you mean '--out-dir'\?", " reanalyze"),
        (["reanalyze", "sp2", "--out-dir"], r"option '--out-dir' requires an argument", ""),  # click tells no command
        (["export"], r"missing argument '.*'\. Choose from: vllm-synthetic, csv, parquet, priors, verify-table", " export"),
        (["export", "tsv", "x"], r"invalid value for '.*': 'tsv' is not one of .*", " export"),
        (["check", "--results-root", "\x1b[31m/none", "x"], r"invalid value for '--results-root': Directory .*", " check"),
        (["show", "a", "b\nc\x1b"], r"got unexpected extra argument \(b c\ufffd\)", " show"),
    ],
)  # fmt: skip
def test_it_is_one_line_with_the_help_that_knows_better(words: list[str], said: str, whose: str) -> None:
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    joint = "" if said.endswith(r"\?") else ";"
    assert re.fullmatch(rf"draftdepth: {said}{joint} `draftdepth{whose} --help` says what would do\n", done.stderr)
    assert done.stderr[:-1].isprintable()


def test_the_process_ends_likewise_whatever_it_is_called() -> None:
    told = subprocess.run([sys.executable, "-m", "draftdepth", "show"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "draftdepth: missing argument 'FILE'; `draftdepth show --help` says what would do\n"


def test_no_word_at_all_asks_for_the_help() -> None:
    assert run().stderr == run("--help").stdout


@pytest.mark.parametrize("option", ["--draws", "--tune"])
@pytest.mark.parametrize("steps", ["99", "100001", "1" + 30 * "0"])
def test_steps_of_a_chain_have_a_lower_and_an_upper_limit(option: str, steps: str) -> None:
    done = run("reanalyze", "none", "--out-dir", "x", option, steps)
    assert done.exit_code == 2
    assert f"'{option}': {steps} is not in the range 100<=x<=100000" in done.stderr
