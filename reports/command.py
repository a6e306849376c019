"""The command line: words in, one call, words out. Heavy rooms are imported where they are called."""

import click

from .. import __version__
from .command_errors import Group
from .command_records import check, convert, scrape
from .command_results import export, report, show
from .command_studies import calibrate, plan, reanalyze, screen, sensitivity, validate


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="draftdepth")
def main() -> None:
    """How deep a draft model should speculate, and how sure one may be."""


for _command in (
    screen, reanalyze, plan, validate, calibrate, sensitivity, show, report, export, check, convert, scrape,
):  # fmt: skip
    main.add_command(_command)
