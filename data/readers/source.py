"""A source as the readers see it: a name for messages, its bytes line by line or, where it is small, whole."""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from ..errors import InputError, MissingInputError
from ..jsonl import BOM, GZIP_MAGIC

LARGEST_SOURCE = 1 << 28  # bytes that are taken whole; a bench file with all its output texts has a hundredth of it
LONGEST_LINE = 1 << 24  # bytes; a line of per-request arrays has a hundredth of it, the rest of a longer one is skipped
BLOCK = 1 << 20  # bytes that are looked through at once
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Source:
    """One input of a reader.

    Parameters
    ----------
    name
        How messages call it; empty where there is only one that needs no name.
    opened
        Opens it anew as a stream of bytes.
    """

    name: str
    opened: Callable[[], IO[bytes]]

    @classmethod
    def of_text(cls, text: str | bytes, name: str = "") -> "Source":
        """A source that is already in memory."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return cls(name, lambda: io.BytesIO(data))

    @classmethod
    def of_path(cls, path: Path) -> "Source":
        """A file, plain or gzip (told by its first bytes); it is opened when it is read."""
        return cls(str(path), lambda: _opened(path))

    def text(self) -> bytes:
        """The whole source.

        Raises
        ------
        InputError
            It is larger than a source that is taken whole, or a damaged gzip stream.
        """
        with self._guarded() as stream:
            text = _read(stream, LARGEST_SOURCE + 1)
        if len(text) > LARGEST_SOURCE:
            raise InputError(f"text: found more than {LARGEST_SOURCE >> 20} MiB; a smaller file would do")
        return text

    def lines(self) -> Iterator[bytes]:
        """Lines with their ends, in constant memory; what a line has beyond the longest is left out."""
        with self._guarded() as stream:
            first = True
            while piece := _line(stream):
                piece, first = _decodable(piece) if first else piece, False
                yield piece
                while not piece.endswith(b"\n") and len(piece) == LONGEST_LINE:
                    piece = _line(stream)

    def marked(self, *marks: bytes) -> Iterator[tuple[int, bytes]]:
        """Numbered lines that hold one of the marks; what holds none is passed over block by block."""
        number, first = 1, True
        wanted = re.compile(b"|".join(map(re.escape, marks)))
        with self._guarded() as stream:
            while block := _read(stream, BLOCK):
                if not block.endswith(b"\n"):
                    block += _line(stream)
                block, first = _decodable(block) if first else block, False
                seen = 0  # all before it is counted
                while (found := wanted.search(block, seen)) is not None:
                    start, end = block.rfind(b"\n", seen, found.start()) + 1 or seen, block.find(b"\n", found.end())
                    end = len(block) if end < 0 else end
                    number += block.count(b"\n", seen, start)
                    yield number, block[start:end]
                    seen = end
                number += block.count(b"\n", seen)

    def holds(self, *marks: bytes) -> bool:
        """Whether any line holds one of the marks."""
        return next(self.marked(*marks), None) is not None

    def _guarded(self) -> IO[bytes]:
        try:
            return self.opened()
        except MissingInputError:
            raise
        except OSError as error:
            raise InputError(f"found {error.strerror or 'an unreadable file'}; a readable file would do") from error


def _decodable(start: bytes) -> bytes:
    """The first bytes of a text without a mark of UTF-8; UTF-16 is refused."""
    if start.startswith(UTF16):
        raise InputError("text: found UTF-16; the same text as UTF-8 would do")
    return start.removeprefix(BOM)


def _damaged(error: Exception) -> InputError:
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
        return InputError(f"text: found {error.strerror or 'an unreadable file'}; a readable file would do")
    return InputError("text: found a damaged gzip stream; a whole gzip file or plain text would do")


def _read(stream: IO[bytes], size: int) -> bytes:
    try:
        return stream.read(size)
    except (EOFError, OSError, zlib.error) as error:
        raise _damaged(error) from error


def _line(stream: IO[bytes]) -> bytes:
    try:
        return stream.readline(LONGEST_LINE)
    except (EOFError, OSError, zlib.error) as error:
        raise _damaged(error) from error


def _opened(path: Path) -> IO[bytes]:
    try:
        stream = path.open("rb")
    except FileNotFoundError as error:
        raise MissingInputError(f"{path}: found nothing; a file that is there would do") from error
    with stream:
        zipped = stream.read(2) == GZIP_MAGIC
    return cast(IO[bytes], gzip.open(path)) if zipped else path.open("rb")
