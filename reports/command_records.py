"""The commands of run records: check them, convert engine output to them, scrape them from a running server."""

import sys
from pathlib import Path
from typing import Any

import click

from .command_options import AS_JSON, RECORDS, Command, in_order, with_roots
from .visible import visible


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--max-depth", type=click.IntRange(1, 64), help="The deepest position of the trained block.")
@with_roots
@AS_JSON
def check(paths: tuple[str, ...], max_depth: int | None, roots: dict[str, Path], as_json: bool) -> None:
    """Check record files and studies: say everything that is wrong with them, change nothing."""
    from .run_check import check_paths

    text, good = check_paths(paths, max_depth, roots, as_json)
    click.echo(text, nl=False)
    if not good:
        sys.exit(2)


def _with_declarations(command: Command) -> Command:
    """Options that declare what engine output does not say; a sidecar may say the same."""
    return in_order(
        command,
        click.option("--sidecar", type=click.Path(path_type=Path), help="TOML file with any of these declarations."),
        click.option("--suite", help="The suite: one prompt set on one target."),
        click.option("--worker", help="The hardware group."),
        click.option("--cell", help="Name of the one cell; a reader may name cells by batch."),
        click.option("--batch", type=int, help="Requests that decode together, where the source does not say."),
        click.option("--context-tokens", type=int, help="Nominal context; 0 for short prompts; unknown if left out."),
        click.option("--policy-kind", type=click.Choice(["dynamic", "fixed"]), help="The policy of the runs."),
        click.option("--policy-depth", type=int, help="Its cap or depth."),
        click.option("--confidence-threshold", type=float, help="The verifier's threshold; it makes the policy dynamic."),
        click.option("--draft-tokens-are-verified", is_flag=True, help="Nothing is truncated after drafting."),
        click.option("--run-prefix", default="", help="Stands before each run's name."),
        click.option("--start", help="Name of the server start that the runs share."),
        click.option("--select", help="The one part of a source that is meant: a prompt, a model, FROM..TO of a log."),
    )  # fmt: skip


def _list_formats(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from .run_convert import list_formats

        click.echo(list_formats(), nl=False)
        ctx.exit()


@click.command()
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_formats, help="List the formats."
)
@click.argument("format_name", metavar="FORMAT")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@RECORDS
@_with_declarations
def convert(format_name: str, paths: tuple[Path, ...], target: Path, sidecar: Path | None, **options: Any) -> None:
    """Convert engine output of FORMAT (or `auto`) at PATHS into run records."""
    from ..data.readers import declared
    from .run_convert import convert_files

    said, told = convert_files(format_name, paths, declared(options, sidecar), target)
    for line in told:
        click.echo(visible(line), err=True)
    click.echo(said, nl=False)


@click.command()
@click.argument("url")
@RECORDS
@click.option("--every", "every_s", type=click.FloatRange(min=0.01), required=True, help="Seconds between scrapes.")
@click.option("--runs", type=click.IntRange(min=1), required=True, help="Runs to make.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0.01), default=5.0, help="Seconds for one answer.")
@_with_declarations
def scrape(
    url: str, target: Path, every_s: float, runs: int, timeout_s: float, sidecar: Path | None, **options: Any
) -> None:
    """Scrape the metrics of a running vLLM server at URL around your own load: an interval with rounds is a run."""
    from ..data.readers import declared
    from .run_scrape import Plan, scrape_runs

    def say(line: str) -> None:
        click.echo(visible(line), err=True)

    said, whole = scrape_runs(Plan(url, every_s, runs, timeout_s), declared(options, sidecar), target, say)
    click.echo(said, nl=False)
    if not whole:
        sys.exit(130)
