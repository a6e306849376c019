"""How the command ends where it cannot go on: one line on stderr and an exit code."""

import errno
from collections.abc import Callable
from typing import Any

import click
from click.exceptions import Exit, NoArgsIsHelpError

from ..data.errors import DraftdepthError
from .output import FULL
from .visible import visible

NAME = "draftdepth"


def _of_words(error: click.UsageError) -> str:
    """What is wrong with the words of the command, and whose help says more."""
    names: list[str] = []
    at = error.ctx
    while at is not None and at.parent is not None:
        names.insert(0, str(at.info_name))
        at = at.parent
    said = " ".join(error.format_message().split()).removesuffix(".")
    joint = "" if said.endswith("?") else ";"
    return f"{said[:1].lower()}{said[1:]}{joint} `{' '.join([NAME, *names])} --help` says what would do"


def _of_system(error: OSError) -> str | None:
    """What a user can do about an error of the system; None where it is not known to be the user's."""
    if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        return "found a path that is too long or leads to itself; another one would do"
    if error.errno in FULL:
        return f"{error.filename or 'output'}: {error.strerror}; a disk with room would do"
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; a path that this user may follow would do"
    return None


def _ending(error: Exception) -> tuple[str, int] | None:
    """The line and the exit code of an error; None where it is a bug, which shows its trace."""
    match error:
        case click.UsageError():
            return _of_words(error), error.exit_code
        case DraftdepthError():
            return str(error), error.exit_code
        case OSError():
            said = _of_system(error)
            return None if said is None else (said, 2)
    return None


def _in_one_line[T](call: Callable[[], T]) -> T:
    """What a call gives; or its error said in a line, once all that the call held is let go."""
    try:
        return call()
    except NoArgsIsHelpError:  # its help is what was asked for
        raise
    except Exception as error:
        ending = _ending(error)
        if ending is None:
            raise
    said, code = ending
    click.echo(visible(f"{NAME}: {said}"), err=True)
    raise Exit(code)


class Group(click.Group):
    """Turns our errors, and words that nothing takes, into one line and their exit code; any other error keeps its trace."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the words before the command's name."""
        return _in_one_line(lambda: super(Group, self).make_context(info_name, args, parent, **extra))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        return _in_one_line(lambda: super(Group, self).invoke(ctx))
