"""The page of metrics that a running server gives: one answer, whole and in time, from the address that was named."""

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from ..data.errors import InputError

LARGEST_ANSWER = 1 << 26  # bytes
PIECE = 1 << 16


class UnansweredError(Exception):
    """A scrape that failed for a reason that may pass."""


class _Direct(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the address that the user named is the one that is asked."""

    def redirect_request(self, *_: Any) -> None:
        """Say that there is nothing to follow."""
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Direct())


def address(url: str) -> str:
    """The metrics address of a server: `/metrics` where only the server is named.

    Raises
    ------
    InputError
        It is no http or https address.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or not url.isprintable() or " " in url:
        raise InputError("URL: found no address of a server; such as http://127.0.0.1:8000/metrics would do")
    return urllib.parse.urlunsplit(parts._replace(path=parts.path if parts.path.strip("/") else "/metrics"))


def fetched(url: str, timeout_s: float) -> bytes:
    """One answer, all of it within the timeout.

    Raises
    ------
    InputError
        The server has no such page.
    UnansweredError
        There was no whole answer, which the next scrape may have.
    """
    end = time.monotonic() + timeout_s
    pieces, size = [], 0
    try:
        with _OPENER.open(url, timeout=timeout_s) as answer:
            while piece := answer.read1(PIECE):
                size += len(piece)
                pieces.append(piece)
                if size > LARGEST_ANSWER:
                    raise InputError(f"URL: found an answer above {LARGEST_ANSWER >> 20} MiB; metrics would do")
                if time.monotonic() > end:
                    raise UnansweredError(f"no whole answer within {timeout_s:g} s")
            if answer.length:
                raise UnansweredError("a cut answer")
    except InputError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        if error.code < 500:
            raise InputError(f"URL: found HTTP status {error.code}; the server's /metrics would do") from error
        raise UnansweredError(f"HTTP status {error.code}") from error
    except TimeoutError as error:
        raise UnansweredError(f"no answer within {timeout_s:g} s") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnansweredError("no answer") from error
    return b"".join(pieces)
