"""Results are written whole or not at all: to a temporary sibling first, then renamed."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ..data.errors import InputError

type Content = str | Callable[[Path], object]
"""A text, or what writes a file at the path that it is given."""


def write_whole(folder: Path, contents: Mapping[str, Content]) -> list[Path]:
    """Write files into a folder, each replaced in one step.

    All are written and synced beside their targets before the first is renamed, so that a full disk or a kill leaves
    the old files. A name may have one folder before it.

    Raises
    ------
    InputError
        The folder cannot be made or written.
    """
    waiting: list[tuple[Path, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            target = folder / name
            target.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "wb", dir=target.parent, prefix=f".{target.name}.", delete=False
            ) as stream:
                waiting.append((Path(stream.name), target))
                if isinstance(content, str):
                    stream.write(content.encode("utf-8"))
                else:
                    content(Path(stream.name))
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(stream.name, 0o644)
        while waiting:
            temporary, target = waiting[0]
            os.replace(temporary, target)
            waiting.pop(0)
    except OSError as error:
        raise InputError(
            f"{folder}: {error.strerror or 'cannot be written'}; a folder that can be written would do"
        ) from error
    finally:
        for temporary, _ in waiting:
            temporary.unlink(missing_ok=True)
    return [folder / name for name in contents]
