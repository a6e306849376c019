"""The command as a user calls it, without a process of its own."""

from click.testing import CliRunner, Result
from draftdepth.reports.command import main


def run(*words: object) -> Result:
    """What it prints and how it ends."""
    return CliRunner().invoke(main, [str(word) for word in words])
