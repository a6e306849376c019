"""How the command ends where it cannot go on: one line on stderr and an exit code."""

import errno
from typing import Any

import click

from ..data.errors import DraftdepthError
from .output import FULL
from .visible import visible


class Group(click.Group):
    """Turns our errors into one line on stderr and their exit code; any other error keeps its trace."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
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
