"""Results are written whole or not at all: to a temporary sibling first, then renamed."""

import errno
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ..data.errors import InputError

type Content = str | Callable[[Path], object]
"""A text, or what writes a file at the path that it is given."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, or the largest file that is allowed
STALE_S = 3600.0  # a temporary sibling this old belongs to a run that was killed


def _checked(folder: Path, names: Iterable[str], sources: Iterable[Path]) -> dict[str, Path]:
    """Where each file goes, links followed.

    Raises
    ------
    InputError
        A target is no regular file, or is what was just read.
    """
    out = {}
    read = [source for source in sources if source.exists()]
    for name in names:
        target = folder / name
        try:
            target = target.resolve() if target.is_symlink() else target
        except (OSError, RuntimeError) as error:
            raise InputError(f"{target}: found a link that leads nowhere; a regular file would do") from error
        if target.exists() and not target.is_file():
            raise InputError(f"{target}: found something that is no regular file; another name would do")
        if target.exists() and any(target.samefile(source) for source in read):
            raise InputError(f"{target}: found the file that is read; another name for the output would do")
        out[name] = target
    return out


def ready(folder: Path) -> None:
    """Make sure that a folder can be written or made before minutes are spent; nothing is left behind.

    Raises
    ------
    InputError
        The folder cannot be made or written.
    """
    try:
        above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(path: Path, error: OSError) -> InputError:
    wanted = "a disk with room" if error.errno in FULL else "a folder that can be written"
    return InputError(f"{path}: {error.strerror or 'cannot be written'}; {wanted} would do")


def add_line(path: Path, line: str) -> None:
    """Write a line at the end of a file; a full disk or a kill may tear it, so that it has to be one whose end shows.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
    except OSError as error:
        raise _unwritable(path, error) from error


def _clear_away(target: Path) -> None:
    """Remove what killed runs left beside a target."""
    for path in target.parent.glob(f".{target.name}.*.part"):
        if time.time() - path.stat().st_mtime > STALE_S:
            path.unlink(missing_ok=True)


def write_whole(folder: Path, contents: Mapping[str, Content], sources: Iterable[Path] = ()) -> list[Path]:
    """Write files into a folder, each replaced in one step.

    All are written and synced beside their targets before the first is renamed, so that a full disk or a kill leaves
    the old files; a kill between two renames leaves the first files new and the others old, each of them whole. A name
    may have folders before it; a link is followed; an old file's mode is kept.

    Parameters
    ----------
    folder
        Made where it is not there.
    contents
        Files by name.
    sources
        Files that were read and must not be replaced.

    Raises
    ------
    InputError
        The folder cannot be made or written, or a target is no regular file or a source.
    """
    waiting: list[tuple[Path, Path]] = []
    at = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, target in _checked(folder, contents, sources).items():
            content, at = contents[name], target
            target.parent.mkdir(parents=True, exist_ok=True)
            _clear_away(target)
            with tempfile.NamedTemporaryFile(
                "wb", dir=target.parent, prefix=f".{target.name}.", suffix=".part", delete=False
            ) as stream:
                waiting.append((Path(stream.name), target))
                if isinstance(content, str):
                    stream.write(content.encode("utf-8"))
                else:
                    content(Path(stream.name))
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(stream.name, target.stat().st_mode & 0o777 if target.exists() else 0o644)
        while waiting:
            temporary, at = waiting[0]
            os.replace(temporary, at)
            waiting.pop(0)
    except OSError as error:
        raise _unwritable(at, error) from error
    finally:
        for temporary, _ in waiting:
            temporary.unlink(missing_ok=True)
    return [folder / name for name in contents]
