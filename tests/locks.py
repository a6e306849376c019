"""A file that a process holds for as long as it lives: tells whether it does, without its number."""

import fcntl
import time
from pathlib import Path


def hold(path: Path) -> None:
    """Lock a file for as long as this process lives, which is long beside any test that waits for its end."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(300.0)


def held(path: Path) -> bool:
    """Whether a process that lives holds a file; none does where there is none."""
    if not path.exists():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
