"""The command line: words in, one call, words out. Heavy rooms are imported where they are called."""

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..data.errors import DraftdepthError
from .output import FULL
from .visible import visible

STUDY = click.argument("study")
OUT_DIR = click.option(
    "--out-dir", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where the results are written."
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def _roots(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where a study's records lie, when not inside the study."""
    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    command = click.option(
        "--coordinator-results-root", "coordinator", type=folder, help="Folder in place of the coordinator's records."
    )(command)
    return click.option("--results-root", "results", type=folder, help="Folder in place of the study's records.")(
        command
    )


def _sampling(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of a fit."""
    for option in reversed([
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="In place of the study's seed."),
        click.option("--draws", type=click.IntRange(100), default=1000, show_default=True, help="Draws of each chain."),
        click.option("--tune", type=click.IntRange(100), default=1000, show_default=True, help="Tuning of each chain."),
        click.option("--chains", type=click.IntRange(2, 16), default=4, show_default=True),
        click.option("--sampler", type=click.Choice(["nutpie", "pymc"]), default="nutpie", show_default=True),
        click.option("--quiet", is_flag=True, help="No progress on stderr."),
    ]):  # fmt: skip
        command = option(command)
    return command


def _teller(quiet: bool) -> Callable[[str], None]:
    """Says a line of progress on stderr, or nothing."""

    def tell(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    return tell


class _Group(click.Group):
    """Turns our errors into one line on stderr and their exit code; any other error keeps its trace."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DraftdepthError as error:
            click.echo(f"draftdepth: {visible(str(error))}", err=True)
            ctx.exit(error.exit_code)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                said = "found a path that is too long or leads to itself; another one would do"
            elif error.errno in FULL:
                said = f"{visible(str(error.filename or 'output'))}: {error.strerror}; a disk with room would do"
            elif isinstance(error, PermissionError) and error.filename is not None:
                said = f"{visible(str(error.filename))}: {error.strerror}; a path that this user may follow would do"
            else:
                raise
            click.echo(f"draftdepth: {said}", err=True)
            ctx.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="draftdepth")
def main() -> None:
    """How deep a draft model should speculate, and how sure one may be."""


def _given(results: Path | None, coordinator: Path | None) -> dict[str, Path]:
    return {key: path for key, path in (("results", results), ("coordinator", coordinator)) if path is not None}


@main.command()
@STUDY
@_roots
@OUT_DIR
@AS_JSON
def screen(study: str, results: Path | None, coordinator: Path | None, out_dir: Path, as_json: bool) -> None:
    """Screen STUDY (an embedded study's name, a folder, or a study.toml): rates, gains, envelopes and bounds."""
    from .run_screen import screen_study

    click.echo(screen_study(study, _given(results, coordinator), out_dir, as_json), nl=False)


@main.command()
@STUDY
@_roots
@OUT_DIR
@_sampling
@click.option("--checks", is_flag=True, help="Also predict every run from the others (minutes on large studies).")
@click.option(
    "--format",
    "form",
    type=click.Choice(["netcdf", "zarr"]),
    default="netcdf",
    show_default=True,
    help="What the stored result is: posterior.nc, or zarr in one posterior.zarr.zip.",
)
@AS_JSON
def reanalyze(
    study: str,
    results: Path | None,
    coordinator: Path | None,
    out_dir: Path,
    quiet: bool,
    checks: bool,
    form: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Do the main job on STUDY: screen, posterior, comparison and decision."""
    from .run_reanalyze import reanalyze_study

    settings["progress"] = sys.stderr.isatty() and not quiet
    roots = _given(results, coordinator)
    click.echo(reanalyze_study(study, roots, out_dir, settings, checks, as_json, _teller(quiet), form), nl=False)


@main.command()
@STUDY
@_roots
@OUT_DIR
@click.option(
    "--posterior", type=click.Path(path_type=Path), help="A stored result; without it the study is fitted first."
)
@click.option("--plan-file", type=click.Path(path_type=Path), help="In place of the study's plan.toml.")
@click.option("--refit", is_flag=True, help="Fit the full model to simulated experiments beside the fast analysis.")
@click.option(
    "--experiments", type=click.IntRange(4, 10_000), default=100, show_default=True, help="Of --refit, about."
)
@click.option("--scheduler", help="Address of a Dask scheduler for --refit, in place of a local pool.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="In place of the study's seed.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@AS_JSON
def plan(
    study: str,
    results: Path | None,
    coordinator: Path | None,
    out_dir: Path,
    posterior: Path | None,
    plan_file: Path | None,
    refit: bool,
    experiments: int,
    scheduler: str | None,
    seed: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Plan the arms of STUDY: how many runs of how many rounds, in which order, and what that buys."""
    from .run_plan import Refits, plan_study

    settings = {"seed": seed, "draws": 1000, "tune": 1000, "chains": 4, "sampler": "nutpie", "progress": False}
    roots, refits = _given(results, coordinator), Refits(experiments if refit else 0, scheduler)
    click.echo(
        plan_study(study, roots, out_dir, posterior, plan_file, settings, refits, as_json, _teller(quiet)), nl=False
    )


@main.command()
@STUDY
@_roots
@click.option(
    "--plan", "plan_json", type=click.Path(path_type=Path), help="A plan.json whose arms were measured since."
)
@click.option("--hold-out", "words", multiple=True, help="Runs to leave out, such as 'policy=fixed depth=1..4'.")
@click.option("--keep-times", default="", help="Runs among them whose step times are kept, likewise.")
@click.option("--out-dir", type=click.Path(path_type=Path, file_okay=False), help="Where VALIDATION.md is written.")
@_sampling
@AS_JSON
def validate(
    study: str,
    results: Path | None,
    coordinator: Path | None,
    plan_json: Path | None,
    words: tuple[str, ...],
    keep_times: str,
    out_dir: Path | None,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Predict measured arms of STUDY that the fit is not shown, or hold them against a plan; exit 4 if a gate fails."""
    roots = _given(results, coordinator)
    if plan_json is not None:
        from .run_validate_plan import validate_plan

        text, good = validate_plan(study, roots, plan_json, as_json)
    else:
        from .run_validate import validate_study

        settings["progress"] = sys.stderr.isatty() and not quiet
        text, good = validate_study(study, roots, out_dir, words, keep_times, settings, as_json, _teller(quiet))
    click.echo(text, nl=False)
    if not good:
        sys.exit(4)


@main.command()
@STUDY
@_roots
@OUT_DIR
@click.option("--sims", type=click.IntRange(20, 100_000), default=300, show_default=True, help="Of each level.")
@click.option(
    "--level", "levels", type=click.Choice(["L0", "L1", "L2", "L3", "L4"]), multiple=True, default=["L0", "L3", "L4"]
)
@click.option("--cells", type=click.IntRange(1), help="Only so many cells of each worker.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@AS_JSON
def calibrate(
    study: str,
    results: Path | None,
    coordinator: Path | None,
    out_dir: Path,
    sims: int,
    levels: tuple[str, ...],
    cells: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Calibrate the model on made-up runs of STUDY's shape; a second call goes on where one was stopped."""
    from .run_calibrate import calibrate_study

    roots = _given(results, coordinator)
    text, good = calibrate_study(study, roots, out_dir, sims, levels, cells, as_json, _teller(quiet))
    click.echo(text, nl=False)
    if not good:
        sys.exit(4)


@main.command()
@STUDY
@_roots
@OUT_DIR
@_sampling
@AS_JSON
def sensitivity(
    study: str,
    results: Path | None,
    coordinator: Path | None,
    out_dir: Path,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Decide on STUDY again under other priors, one at a time: which one changes which recommendation."""
    from .run_sensitivity import sensitivity_of_study

    settings["progress"] = sys.stderr.isatty() and not quiet
    roots = _given(results, coordinator)
    click.echo(sensitivity_of_study(study, roots, out_dir, settings, as_json, _teller(quiet)), nl=False)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@AS_JSON
def show(file: Path, as_json: bool) -> None:
    """Reopen a stored result FILE (posterior.nc or posterior.zarr.zip) and say what it recommends."""
    from .run_reanalyze import show_file

    click.echo(show_file(file, as_json), nl=False)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@OUT_DIR
@AS_JSON
def report(file: Path, out_dir: Path, as_json: bool) -> None:
    """Render the page of a stored result FILE (posterior.nc or posterior.zarr.zip), without a fit."""
    from .run_report import report_file

    click.echo(report_file(file, out_dir, as_json), nl=False)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--max-depth", type=click.IntRange(1, 64), help="The deepest position of the trained block.")
@_roots
@AS_JSON
def check(
    paths: tuple[str, ...], max_depth: int | None, results: Path | None, coordinator: Path | None, as_json: bool
) -> None:
    """Check record files and studies: say everything that is wrong with them, change nothing."""
    from .run_check import check_paths

    text, good = check_paths(paths, max_depth, _given(results, coordinator), as_json)
    click.echo(text, nl=False)
    if not good:
        sys.exit(2)


def _declarations(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that declare what engine output does not say; a sidecar may say the same."""
    for option in reversed([
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
    ]):  # fmt: skip
        command = option(command)
    return command


def _list_formats(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from .run_convert import list_formats

        click.echo(list_formats(), nl=False)
        ctx.exit()


@main.command()
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_formats, help="List the formats."
)
@click.argument("format_name", metavar="FORMAT")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), required=True, help="The run-record file.")
@_declarations
def convert(format_name: str, paths: tuple[Path, ...], target: Path, sidecar: Path | None, **options: Any) -> None:
    """Convert engine output of FORMAT (or `auto`) at PATHS into run records."""
    from ..data.readers import declared
    from .run_convert import convert_files

    said, told = convert_files(format_name, paths, declared(options, sidecar), target)
    for line in told:
        click.echo(visible(line), err=True)
    click.echo(said, nl=False)


@main.command()
@click.argument("url")
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), required=True, help="The run-record file.")
@click.option("--every", "every_s", type=click.FloatRange(min=0.01), required=True, help="Seconds between scrapes.")
@click.option("--runs", type=click.IntRange(min=1), required=True, help="Runs to make.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0.01), default=5.0, help="Seconds for one answer.")
@_declarations
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


@main.command()
@click.argument("kind", type=click.Choice(["vllm-synthetic", "csv", "parquet", "priors", "verify-table"]))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), help="A file in place of stdout.")
@click.option("--validation", type=click.Path(path_type=Path), help="validation.json, for verify-table.")
def export(kind: str, file: Path, target: Path | None, validation: Path | None) -> None:
    """Hand on a stored result FILE as KIND: rates to replay, the comparison, the next study's priors, or the verify cost."""
    from ..data.errors import InputError
    from .output import write_whole
    from .run_export import export as exported

    made = exported(kind, file, validation)
    if target is not None:
        write_whole(target.parent, {target.name: made}, [file])
    elif isinstance(made, str):
        click.echo(made, nl=False)
    else:
        raise InputError(f"{kind}: found no --output; a file name would do, since it is no text")
