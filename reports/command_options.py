"""Options that several commands share, and what a command is given of them."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

type Command = Callable[..., Any]
type Tell = Callable[[str], None]

STEPS = click.IntRange(100, 100_000)  # of a chain; a hundred times the default takes days and all memory

STUDY = click.argument("study")
FILE = click.argument("file", type=click.Path(path_type=Path))
OUT_DIR = click.option(
    "--out-dir", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where the results are written."
)
RECORDS = click.option(
    "-o", "--output", "target", type=click.Path(path_type=Path), required=True, help="The run-record file."
)
SEED = click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="In place of the study's seed.")
QUIET = click.option("--quiet", is_flag=True, help="No progress on stderr.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def teller(quiet: bool) -> Tell:
    """Says a line of progress on stderr, or nothing."""

    def tell(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    return tell


def in_order(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Give a command options that its help lists in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def with_roots(command: Command) -> Command:
    """Options that say where a study's records lie, when not inside the study; the command is given `roots`."""

    @wraps(command)
    def called(results: Path | None, coordinator: Path | None, **words: Any) -> Any:
        named = {"results": results, "coordinator": coordinator}
        return command(roots={name: path for name, path in named.items() if path is not None}, **words)

    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    return in_order(
        called,
        click.option("--results-root", "results", type=folder, help="Folder in place of the study's records."),
        click.option(
            "--coordinator-results-root", "coordinator", type=folder,
            help="Folder in place of the coordinator's records.",
        ),
    )  # fmt: skip


def with_settings(command: Command) -> Command:
    """Options of a fit; the command is given `settings`, and `tell` for its progress."""

    @wraps(command)
    def called(seed: int | None, draws: int, tune: int, chains: int, sampler: str, quiet: bool, **words: Any) -> Any:
        settings = {"seed": seed, "draws": draws, "tune": tune, "chains": chains, "sampler": sampler}
        settings["progress"] = sys.stderr.isatty() and not quiet
        return command(settings=settings, tell=teller(quiet), **words)

    return in_order(
        called,
        SEED,
        click.option("--draws", type=STEPS, default=1000, show_default=True, help="Draws of each chain."),
        click.option("--tune", type=STEPS, default=1000, show_default=True, help="Tuning of each chain."),
        click.option("--chains", type=click.IntRange(2, 16), default=4, show_default=True),
        click.option("--sampler", type=click.Choice(["nutpie", "pymc"]), default="nutpie", show_default=True),
        QUIET,
    )
