"""A process that computes the products of a command once, and kills children of its own while they write them.

Run as `python -m tests.kills SPEC`, since children are forked and a process of many threads may not fork.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
MOST_TRIES = 20  # for each kill that has to find a writing unfinished
LATEST = 1.1  # of the time of a writing, so that renaming, which comes last, is met too
TIMED = 5  # writings that came to their end: the median of the last ones is the time over which kills are drawn
FOREVER = 600.0  # seconds that no writing takes


@dataclass(frozen=True, slots=True)
class Spec:
    """Which room writes, its words for an old and a new result, one of its products, and kills before it is done.

    No number of kills stands for one before each thing that a writing does to its folder.
    """

    room: str
    old: list[str]
    new: list[str]
    out: str
    product: str
    kills: int | None
    seed: int


@dataclass(slots=True)
class Report:
    """Kills, those of them before the writing was done, and in which state these left the folder."""

    kills: int = 0
    unfinished: int = 0
    old: int = 0
    mixed: int = 0
    new: int = 0
    files: int = 0
    leftovers: int = 0
    faults: list[str] = field(default_factory=list)


def killed(spec: Spec) -> Report:
    """Ask a process of its own."""
    words = [sys.executable, "-m", "tests.kills", json.dumps(asdict(spec))]
    alone = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(words, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return Report(**json.loads(told.stdout.splitlines()[-1]))


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file by its name below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_leftover(name: str) -> bool:
    """Whether a killed run left it: the temporary sibling of a file."""
    return Path(name).name.startswith(".") and name.endswith(".part")


class Dying:
    """Kills this process before the nth thing that it does to a folder: opening, renaming, making, removing."""

    def __init__(self, folder: Path, place: int) -> None:
        self.folder, self.left = str(folder), place

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "open" or event.startswith("os."):
            at = [str(one) for one in given if isinstance(one, str | os.PathLike)]
            if any(one.startswith(self.folder) for one in at):
                if not self.left:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.left -= 1


def _child(write: Callable[[], object], dying: Dying | None) -> tuple[int, int]:
    """Fork a writer; gives its process and a pipe that says `s` once it begins, `d` once it is done, `f` if it fails."""
    heard, said = os.pipe()
    process = os.fork()
    if process:
        os.close(said)
        return process, heard
    try:
        os.write(said, b"s")
        if dying is not None:
            sys.addaudithook(dying)
        write()
        os.write(said, b"d")
    except BaseException:
        traceback.print_exc()
        os.write(said, b"f")
    finally:
        os._exit(0)


def _time_of(write: Callable[[], object], moment: float | Dying) -> float | None:
    """Let a child write and kill it after some seconds, or let it kill itself.

    Returns
    -------
    float or None
        Seconds that the writing took; None where the kill came before its end.
    """
    process, heard = _child(write, moment if isinstance(moment, Dying) else None)
    assert os.read(heard, 1) == b"s"
    began = time.monotonic()
    select.select([heard], [], [], None if isinstance(moment, Dying) else moment)
    taken = time.monotonic() - began
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    done = os.read(heard, 1)
    os.close(heard)
    assert done != b"f", "a writing that nobody disturbed failed"
    return taken if done == b"d" else None


class Experiment:
    """Stands in for `write_whole`: kills writers of the new files over the old ones and looks at what they leave."""

    def __init__(self, spec: Spec, write_whole: Callable[..., list[Path]]) -> None:
        self.spec, self.write_whole, self.report = spec, write_whole, Report()
        self.out = Path(spec.out)
        self.old: dict[str, bytes] = {}
        self.new: dict[str, bytes] = {}
        self.times: list[float] = []

    def __call__(self, folder: Path, contents: Mapping[str, Any], sources: Iterable[Path] = ()) -> list[Path]:
        if self.spec.product not in contents:
            return self.write_whole(folder, contents, sources)

        def write() -> list[Path]:
            return self.write_whole(folder, contents, sources)

        apart = self.out.with_name("apart")
        self.write_whole(apart, contents)
        self.new, self.old = files_in(apart), files_in(self.out)
        self.report.files = len(self.new)
        same = [name for name, text in self.new.items() if self.old.get(name) == text]
        assert not same, f"old and new cannot be told apart: {same}"
        for moment in self._moments(write):
            self._restored()
            taken = _time_of(write, moment)
            unfinished = taken is None
            self.times += [] if taken is None else [taken]
            self.report.kills += 1
            self.report.unfinished += unfinished
            self._look(list(contents), unfinished)
            if self._is_enough(moment, unfinished):
                break
        written = write()
        self._look(list(contents), unfinished=False)
        return written

    def _moments(self, write: Callable[[], object]) -> Iterable[float | Dying]:
        if self.spec.kills is None:
            yield from (Dying(self.out, place) for place in range(10_000))
            return
        rng = np.random.default_rng(self.spec.seed)
        for _ in range(TIMED):
            self._restored()
            self.times += [_time_of(write, FOREVER) or FOREVER]
        for _ in range(MOST_TRIES * self.spec.kills):
            yield float(rng.uniform(0.0, LATEST * np.median(self.times[-TIMED:])))

    def _is_enough(self, moment: float | Dying, unfinished: bool) -> bool:
        return not unfinished if isinstance(moment, Dying) else self.report.unfinished == self.spec.kills

    def _restored(self) -> None:
        shutil.rmtree(self.out)
        for name, text in self.old.items():
            path = self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)

    def _look(self, order: list[str], unfinished: bool) -> None:
        """Hold the folder against what is promised: each file whole, replaced in order, all of them once it is done."""
        found = files_in(self.out)
        left = [name for name in found if is_leftover(name)]
        self.report.leftovers += len(left)
        replaced = [found.get(name) != self.old.get(name) for name in order]
        torn = [name for name in order if found.get(name) != self.old.get(name) and not self._is_new(name, found)]
        torn += [
            name for name in sorted({*self.old, *found} - {*order, *left}) if found.get(name) != self.old.get(name)
        ]
        self.report.faults += [f"{name} is neither old nor new" for name in torn]
        if replaced != sorted(replaced, reverse=True):
            self.report.faults.append(f"replaced out of order: {replaced}")
        if not (unfinished or all(replaced)):
            self.report.faults.append("done, and not all is new")
        if unfinished:
            self.report.old += not any(replaced)
            self.report.mixed += any(replaced) and not all(replaced)
            self.report.new += all(replaced)

    def _is_new(self, name: str, found: Mapping[str, bytes]) -> bool:
        """Whether a file is the new one: by its bytes, or a stored result by the content that its own hash fits."""
        if name not in found or name == "posterior.nc":
            return name in found and self._content(self.out / name) == self._content(self.out.with_name("apart") / name)
        return found[name] == self.new[name]

    @staticmethod
    def _content(path: Path) -> str:
        from draftdepth.data.errors import InputError
        from draftdepth.reports.page_opened import stored

        try:
            with stored(path, whole=True) as tree:
                return str(tree.attrs["content_sha256"])
        except InputError as error:
            return str(error)


def _main(spec: Spec) -> None:
    from draftdepth.reports.command import main

    from .stand_ins import replace_sampling

    replace_sampling()
    main(spec.old, standalone_mode=False)
    room: Any = import_module(f"draftdepth.reports.{spec.room}")
    room.write_whole = experiment = Experiment(spec, room.write_whole)
    main(spec.new, standalone_mode=False)
    print(json.dumps(asdict(experiment.report)))


if __name__ == "__main__":
    _main(Spec(**json.loads(sys.argv[1])))
