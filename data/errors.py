"""The error tree: each error also is the built-in that a stranger would catch, and knows its exit code."""


class DraftdepthError(Exception):
    """Anything that the program refuses, said in one line."""

    exit_code = 2


class InputError(DraftdepthError, ValueError):
    """A record, study or option that cannot be used; the message says what was found and what would do."""


class MissingInputError(DraftdepthError, FileNotFoundError):
    """A path that the caller named and that is not there."""


class NotConvergedError(DraftdepthError, RuntimeError):
    """A fit whose draws must not be used; the message names every diagnostic that failed, and its limit."""

    exit_code = 3


class GateError(DraftdepthError, RuntimeError):
    """A held-out gate that is open; the message names it."""

    exit_code = 4
