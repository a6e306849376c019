"""Results that are zarr in a zip: they hold what netCDF holds, and every command opens them."""

import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import zarr
from draftdepth.analysis.result import CONTENT_HASH, content_hash, group_path
from draftdepth.analysis.screen import screen
from draftdepth.data.errors import InputError
from draftdepth.data.study import load_study
from draftdepth.reports.output import write_whole
from draftdepth.reports.output_tree import NETCDF, POSTERIOR, ZARR, tree_writer
from draftdepth.reports.page_opened import stored
from draftdepth.reports.stored_zarr import is_zip

from .builders import record, write_study
from .called import run
from .page.made_up import fitted_tree
from .plan_examples import SPREADS, draws, example_study, plan_text, stored_tree
from .stored_examples import hashed, small_tree, whole_tree
from .test_faults_places import full_disk


def _both(tree: xr.DataTree, folder: Path) -> dict[str, Path]:
    """The same tree in both formats."""
    folder.mkdir(exist_ok=True)
    for form, name in POSTERIOR.items():
        tree_writer(form)(tree, folder / name)
    return {form: folder / name for form, name in POSTERIOR.items()}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return _both(hashed(whole_tree()), tmp_path_factory.mktemp("good"))


def test_zarr_holds_what_netcdf_holds(good: dict[str, Path]) -> None:
    with stored(good[NETCDF], whole=True) as left, stored(good[ZARR], whole=True) as right:
        assert left.attrs == right.attrs
        assert content_hash(right) == left.attrs[CONTENT_HASH]
        one, two = ({node.path: node.to_dataset(inherit=False) for node in tree.subtree} for tree in (left, right))
        assert one.keys() == two.keys()
        for path, held in one.items():
            xr.testing.assert_equal(held, two[path])
            for name, variable in held.variables.items():
                assert variable.attrs == two[path][name].attrs


def test_the_same_tree_gives_the_same_bytes(good: dict[str, Path], tmp_path: Path) -> None:
    again = _both(hashed(whole_tree()), tmp_path)[ZARR]
    assert again.read_bytes() == good[ZARR].read_bytes()


def test_a_stranger_opens_it_without_a_warning(good: dict[str, Path]) -> None:
    with zarr.storage.ZipStore(good[ZARR], mode="r") as store, xr.open_datatree(store, engine="zarr") as tree:
        assert content_hash(tree) == tree.attrs[CONTENT_HASH]


def test_every_command_opens_it_by_what_it_is(good: dict[str, Path], tmp_path: Path) -> None:
    small = _both(hashed(small_tree()), tmp_path)
    disguised = small[ZARR].rename(tmp_path / "result.nc")
    assert is_zip(disguised)
    for words in (("show",), ("show", "--json"), *(("export", kind) for kind in ("csv", "priors", "vllm-synthetic"))):
        left, right = run(*words, small[NETCDF]), run(*words, disguised)
        assert (left.exit_code, right.exit_code, right.stderr) == (0, 0, ""), right.output
        assert left.stdout == right.stdout
    assert run("export", "parquet", disguised, "-o", tmp_path / "c.parquet").exit_code == 0
    done = run("report", good[ZARR], "--out-dir", tmp_path / "page")
    assert (done.exit_code, done.stderr) == (0, "")
    assert (tmp_path / "page" / "report.html").is_file()


def test_a_plan_from_zarr_is_the_plan_from_netcdf(tmp_path: Path) -> None:
    study = example_study(tmp_path / "study")
    (study / "plan.toml").write_text(plan_text(simulations=100, runs=[2, 6], target=0.5), encoding="utf-8")
    tree = stored_tree(load_study(str(study)), draws(100, SPREADS))
    for form, path in _both(tree, tmp_path).items():
        done = run("plan", study, "--posterior", path, "--out-dir", tmp_path / form, "--quiet")
        assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert (tmp_path / NETCDF / "plan.json").read_bytes() == (tmp_path / ZARR / "plan.json").read_bytes()


def test_the_file_is_closed_after_use(good: dict[str, Path], tmp_path: Path) -> None:
    closed = []
    close = zarr.storage.ZipStore.close

    def told(store: Any) -> None:
        closed.append(store._is_open)
        close(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zarr.storage.ZipStore.close", told)
        with stored(good[ZARR]):
            assert closed == []
        tree = small_tree()
        tree.attrs[CONTENT_HASH] = "0" * 64
        lie = _both(tree, tmp_path)[ZARR]
        with pytest.raises(InputError, match="hash"), stored(lie):
            pass
    assert closed == [True, True]


def test_a_full_disk_leaves_the_old_file_and_no_other(good: dict[str, Path], tmp_path: Path) -> None:
    old = tmp_path / POSTERIOR[ZARR]
    old.write_text("old")
    tree = hashed(small_tree())
    with full_disk(good[ZARR].stat().st_size // 10), pytest.raises(InputError, match="would do"):
        write_whole(tmp_path, {old.name: lambda path: tree_writer(ZARR)(tree, path)})
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    assert old.read_text() == "old"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study whose fit is made up."""
    rows = [record(), record(run="r2", request_rounds=1700)]
    folder = write_study(tmp_path / "study", {"c": 3}, rows)
    whole = load_study(str(folder))

    def fit(runs: xr.Dataset, *_: Any) -> xr.DataTree:
        made = fitted_tree(screen(whole, runs), runs)
        made["diagnostics"] = xr.DataTree(xr.Dataset({"survival_rhat": 1.001}))
        return made

    __import__("draftdepth.reports.run_reanalyze")
    monkeypatch.setattr("draftdepth.reports.run_reanalyze.fit", fit)
    return folder


def test_reanalyze_writes_one_file_that_is_asked_for(study: Path, tmp_path: Path) -> None:
    hashes = []
    for form, name in POSTERIOR.items():
        done = run("reanalyze", study, "--out-dir", tmp_path / form, "--format", form)
        assert done.exit_code == 0, done.output
        assert f"{name}\n" in done.stdout
        assert "earlier" not in done.stderr
        assert [path.name for path in (tmp_path / form).glob("posterior*")] == [name]
        assert not list((tmp_path / form).glob(".*"))
        hashes += [line for line in run("show", tmp_path / form / name).stdout.splitlines() if "content" in line]
    assert len(hashes) == 2
    assert hashes[0] == hashes[1]


def test_a_result_of_an_earlier_run_in_the_other_format_is_told(study: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "posterior.nc").write_text("old")
    done = run("reanalyze", study, "--out-dir", tmp_path / "out", "--format", "zarr")
    assert f"{tmp_path / 'out' / 'posterior.nc'}: of an earlier run, left as it was\n" in done.stderr
    assert (tmp_path / "out" / "posterior.nc").read_text() == "old"


def test_without_zarr_one_line_says_what_to_install(
    good: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a fit began")

    __import__("draftdepth.reports.run_reanalyze")
    monkeypatch.setattr("draftdepth.reports.run_reanalyze.fit", refuse)
    monkeypatch.setitem(sys.modules, "zarr", None)
    line = "draftdepth: zarr: found no zarr; `pip install draftdepth[zarr]` would do\n"
    for words in (("reanalyze", "sp2", "--format", "zarr", "--out-dir", tmp_path / "out"), ("show", good[ZARR])):
        done = run(*words)
        assert (done.exit_code, done.stderr, done.stdout) == (2, line, "")
    assert not (tmp_path / "out").exists()
    assert run("show", good[NETCDF]).exit_code == 0


def test_no_worker_has_a_name_that_zarr_takes_for_its_own() -> None:
    assert group_path("posterior", "..\\a:b/c.d") == "posterior/__a_b_c.d"
    assert group_path("posterior", ".") == "posterior/_"
