"""Build the wheel and check that it holds the package and nothing else."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOMS = ("models/", "analysis/", "data/", "reports/")
ROOT_FILES = {"__init__.py", "__main__.py", "py.typed"}


def strangers(names: list[str]) -> list[str]:
    """Entries of a wheel that are neither ours nor its metadata."""
    out = []
    for name in names:
        top, _, rest = name.partition("/")
        if top.endswith(".dist-info"):
            continue
        if top != "draftdepth" or not (rest in ROOT_FILES or rest.startswith(ROOMS)):
            out.append(name)
    return out


def main() -> int:
    """Build, look inside, install nothing."""
    repository = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "source"
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, check=True)
        for name in filter(None, tracked.stdout.decode().split("\0")):
            source, target = repository / name, copy / name
            if source.is_file() and not name.startswith(".types/"):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, str(copy)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
    wanted = {
        "draftdepth/py.typed",
        "draftdepth/data/studies/sp2/study.toml",
        "draftdepth/data/studies/gx10/study.toml",
        "draftdepth/reports/templates/report.html",
    }
    bad, missing = strangers(names), sorted(wanted - set(names))
    for name in bad:
        print(f"{name} has no place in the wheel")
    for name in missing:
        print(f"{name} is missing from the wheel")
    print(f"the wheel holds {len(names)} files" if not bad and not missing else "the wheel is wrong")
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
