"""The commands of a stored result: show it, render its page, hand it on."""

from pathlib import Path

import click

from .command_options import AS_JSON, FILE, OUT_DIR


@click.command()
@FILE
@AS_JSON
def show(file: Path, as_json: bool) -> None:
    """Reopen a stored result FILE (posterior.nc or posterior.zarr.zip) and say what it recommends."""
    from .run_reanalyze import show_file

    click.echo(show_file(file, as_json), nl=False)


@click.command()
@FILE
@OUT_DIR
@AS_JSON
def report(file: Path, out_dir: Path, as_json: bool) -> None:
    """Render the page of a stored result FILE (posterior.nc or posterior.zarr.zip), without a fit."""
    from .run_report import report_file

    click.echo(report_file(file, out_dir, as_json), nl=False)


@click.command()
@click.argument("kind", type=click.Choice(["vllm-synthetic", "csv", "parquet", "priors", "verify-table"]))
@FILE
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
