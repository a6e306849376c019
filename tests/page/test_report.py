"""`draftdepth report` on a stored result: its files are written whole, or the old ones stay."""

import json
import re
from pathlib import Path

import xarray as xr

from ..called import run


def test_report_writes_the_files_of_a_stored_result_whole(
    tree: xr.DataTree, files: dict[str, str], tmp_path: Path
) -> None:
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    out = tmp_path / "out"
    done = run("report", tmp_path / "posterior.nc", "--out-dir", out, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["report"] == str(out / "report.html")
    written = {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in out.rglob("*.*")}
    assert written == files


def test_report_refuses_what_holds_no_screen_in_one_line(tree: xr.DataTree, tmp_path: Path) -> None:
    bare = tree.copy()
    del bare.attrs["screen"]
    bare.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    done = run("report", tmp_path / "posterior.nc", "--out-dir", tmp_path / "out")
    assert done.exit_code == 2
    assert re.fullmatch(r"draftdepth: .*screen.*would do\n", done.stderr)
    assert not (tmp_path / "out").exists()


def test_where_figures_cannot_be_written_the_old_page_stays(tree: xr.DataTree, tmp_path: Path) -> None:
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("old", encoding="utf-8")
    (out / "figures").write_text("a file in the way of the folder", encoding="utf-8")
    done = run("report", tmp_path / "posterior.nc", "--out-dir", out)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert {path.name for path in out.iterdir()} == {"report.html", "figures"}
    assert (out / "report.html").read_text(encoding="utf-8") == "old"
