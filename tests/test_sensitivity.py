"""Other priors: what they change, when a fit is needed, and what the page says of a flip."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner
from draftdepth.analysis import prior_variants
from draftdepth.analysis.prior_variants import BASE, Variant, variants
from draftdepth.data.errors import NotConvergedError
from draftdepth.models.derive import derived
from draftdepth.models.evidence import evidence_of
from draftdepth.models.fit import forward_draws
from draftdepth.models.priors import Priors
from draftdepth.reports.command import main
from draftdepth.reports.markdown import escaped
from draftdepth.reports.run_sensitivity import flips

from .builders import record, write_study
from .test_models_density import LEVELS, evidence


@pytest.mark.parametrize("taught", [False, True])
def test_each_variation_changes_what_it_names(taught: bool) -> None:
    priors = Priors.stated("confidence", {})
    found = variants(priors, taught)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        changed = replace(priors, **one.changes)
        differing = {name for name, value in changed.as_dict().items() if value != priors.as_dict()[name]}
        assert differing
        assert differing <= set(one.changes)
    assert any("row_slope_scale" in one.changes for one in found) == taught


def test_a_fit_is_needed_where_the_counts_speak() -> None:
    delta, overlap = Variant("d", {"masked_gap_scale": 1.0}), Variant("o", {"overlap_alpha": 1.0})
    spread, slope = Variant("s", {"run_scale": 1.0}), Variant("m", {"row_slope_alpha": 1.0})
    alone, beside = evidence(LEVELS["L0"]), evidence(LEVELS["mixed"])
    assert [one.needs_fit(alone) for one in (delta, overlap, spread, slope)] == [False, False, True, False]
    assert [one.needs_fit(beside) for one in (delta, overlap, spread, slope)] == [True, False, True, True]


def test_a_flip_and_a_fault_are_told() -> None:
    row: dict[str, Any] = {"cell": "c", "variant": BASE, "recommended": 0, "flips": False}
    other = row | {"variant": "narrow", "recommended": 3, "flips": True}
    lost = {"cell": "c", "variant": "wide", "fault": "a long story"}
    assert flips([row, row | {"variant": "same"}]) == []
    assert flips([row, other, lost]) == ["c: narrow: depth 3 in place of keep", "c: wide: has not converged"]


def test_the_command_writes_a_row_for_each_variation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With draws of the prior in place of fits: the table, not the sampler, is what is tried here."""
    calls = []

    def drawn(
        runs: xr.Dataset, config_ms: Any, priors: Priors, settings: Any, group: str, with_prior: bool
    ) -> xr.DataTree:
        calls.append(priors)
        if priors.run_scale > 0.5:
            raise NotConvergedError("no")
        held = evidence_of(runs)
        sampled = forward_draws(held, priors, config_ms, 3, 50)
        tree = xr.DataTree.from_dict({"posterior": derived(sampled, held, priors, config_ms, 3)[0], "sampled": sampled})
        tree.attrs = {"slope_taught": 0}
        return tree

    monkeypatch.setattr(prior_variants, "fit", drawn)
    study = write_study(tmp_path / "study", {"c": 3}, [record(), record(run="r2", request_rounds=1500)])
    result = CliRunner().invoke(main, ["sensitivity", str(study), "--out-dir", str(tmp_path / "out"), "--quiet"])
    assert result.exit_code == 0, result.output
    assert "S/c: spread of runs doubled: has not converged" in result.output
    page = (tmp_path / "out" / "SENSITIVITY.md").read_text(encoding="utf-8")
    for one in variants(Priors.stated("unknown", {}), taught=False):
        assert f"| {escaped(one.name)} |" in page
    assert (
        len(calls) == 11
    )  # as stated, and two each for transport, runs, suites, cells and times: the rest needs no fit
