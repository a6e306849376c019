"""The commands of a study: screen it, fit it, plan its next arms, and hold the model to account."""

import sys
from pathlib import Path
from typing import Any

import click

from .command_options import AS_JSON, OUT_DIR, QUIET, SEED, STUDY, Tell, teller, with_roots, with_settings


def _judged(text: str, good: bool) -> None:
    """Print what was found, and exit 4 where a gate is open."""
    click.echo(text, nl=False)
    if not good:
        sys.exit(4)


@click.command()
@STUDY
@with_roots
@OUT_DIR
@AS_JSON
def screen(study: str, roots: dict[str, Path], out_dir: Path, as_json: bool) -> None:
    """Screen STUDY (an embedded study's name, a folder, or a study.toml): rates, gains, envelopes and bounds."""
    from .run_screen import screen_study

    click.echo(screen_study(study, roots, out_dir, as_json), nl=False)


@click.command()
@STUDY
@with_roots
@OUT_DIR
@with_settings
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
    roots: dict[str, Path],
    out_dir: Path,
    tell: Tell,
    checks: bool,
    form: str,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """Do the main job on STUDY: screen, posterior, comparison and decision."""
    from .run_reanalyze import reanalyze_study

    click.echo(reanalyze_study(study, roots, out_dir, settings, checks, as_json, tell, form), nl=False)


@click.command()
@STUDY
@with_roots
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
@SEED
@QUIET
@AS_JSON
def plan(
    study: str,
    roots: dict[str, Path],
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
    refits = Refits(experiments if refit else 0, scheduler)
    click.echo(
        plan_study(study, roots, out_dir, posterior, plan_file, settings, refits, as_json, teller(quiet)), nl=False
    )


@click.command()
@STUDY
@with_roots
@click.option(
    "--plan", "plan_json", type=click.Path(path_type=Path), help="A plan.json whose arms were measured since."
)
@click.option("--hold-out", "words", multiple=True, help="Runs to leave out: 'policy=fixed depth=1..4', 'batch=each'.")
@click.option("--keep-times", default="", help="Runs among them whose step times are kept, likewise.")
@click.option("--out-dir", type=click.Path(path_type=Path, file_okay=False), help="Where VALIDATION.md is written.")
@with_settings
@AS_JSON
def validate(
    study: str,
    roots: dict[str, Path],
    plan_json: Path | None,
    words: tuple[str, ...],
    keep_times: str,
    out_dir: Path | None,
    tell: Tell,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """Predict measured arms of STUDY that the fit is not shown, or hold them against a plan; exit 4 if a gate fails."""
    if plan_json is not None:
        from .run_validate_plan import validate_plan

        text, good = validate_plan(study, roots, plan_json, as_json)
    else:
        from .run_validate import validate_study

        text, good = validate_study(study, roots, out_dir, words, keep_times, settings, as_json, tell)
    _judged(text, good)


@click.command()
@STUDY
@with_roots
@OUT_DIR
@click.option("--sims", type=click.IntRange(20, 100_000), default=300, show_default=True, help="Of each level.")
@click.option(
    "--level", "levels", type=click.Choice(["L0", "L1", "L2", "L3", "L4"]), multiple=True, default=["L0", "L3", "L4"]
)
@click.option("--cells", type=click.IntRange(1), help="Only so many cells of each worker.")
@QUIET
@AS_JSON
def calibrate(
    study: str,
    roots: dict[str, Path],
    out_dir: Path,
    sims: int,
    levels: tuple[str, ...],
    cells: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Calibrate the model on made-up runs of STUDY's shape; a second call goes on where one was stopped."""
    from .run_calibrate import calibrate_study

    text, good = calibrate_study(study, roots, out_dir, sims, levels, cells, as_json, teller(quiet))
    _judged(text, good)


@click.command()
@STUDY
@with_roots
@OUT_DIR
@with_settings
@AS_JSON
def sensitivity(
    study: str,
    roots: dict[str, Path],
    out_dir: Path,
    tell: Tell,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """Decide on STUDY again under other priors, one at a time: which one changes which recommendation."""
    from .run_sensitivity import sensitivity_of_study

    click.echo(sensitivity_of_study(study, roots, out_dir, settings, as_json, tell), nl=False)
