"""The sidecar: a small TOML file that declares what a format lacks, beside the options of the command."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingInputError
from ..faults import described
from .form import ReaderOptions
from .json_source import shown

KINDS: dict[str, tuple[type, ...]] = {
    "batch": (int,),
    "context_tokens": (int,),
    "policy_depth": (int,),
    "confidence_threshold": (float, int),
    "draft_tokens_are_verified": (bool,),
}
"""What a declaration is; every other one is a text."""
LARGEST = 1 << 16  # bytes


def declarations(path: Path) -> dict[str, Any]:
    """Read a sidecar: the names of `ReaderOptions`, each at most once, and nothing else.

    Raises
    ------
    InputError
        It is no TOML, declares something that is no option, or an option with a value of another kind.
    MissingInputError
        It is not there.
    """
    try:
        with path.open("rb") as stream:
            text = stream.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise InputError(f"{path}: found more than {LARGEST} bytes; a few lines of declarations would do")
        values = tomllib.loads(text.decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise MissingInputError(f"{path}: found nothing; a file that is there would do") from error
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: found {error.strerror or 'an unreadable file'}; a readable file would do") from error
    except (ValueError, RecursionError) as error:  # ValueError: no TOML, or no UTF-8
        raise InputError(f"{path}: found something that is not TOML; lines such as batch = 4 would do") from error
    known = [field.name for field in fields(ReaderOptions)]
    for name, value in values.items():
        if name not in known:
            raise InputError(f"{path}: {shown(name)}: found no such declaration; there are: {', '.join(known)}")
        kinds = KINDS.get(name, (str,))
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kinds[0]]
            raise InputError(f"{path}: {name}: found {described(value)}; {wanted} would do")
    return values


def declared(given: Mapping[str, Any], sidecar: Path | None) -> ReaderOptions:
    """Options of the command, over those of the sidecar.

    Parameters
    ----------
    given
        Options by name; None, False and empty texts say nothing.
    sidecar
        The file, None where there is none.

    Raises
    ------
    InputError
        Suite or worker is declared nowhere, or an option cannot be used.
    """
    values = declarations(sidecar) if sidecar is not None else {}
    values |= {name: value for name, value in given.items() if not (value is None or value is False or value == "")}
    for name in ("suite", "worker"):
        if name not in values:
            raise InputError(f"{name}: found nothing; the option {name}, or a line of the sidecar, would do")
    return ReaderOptions(**values)
