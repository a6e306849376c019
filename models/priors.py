"""What is believed before a run is seen: frozen, named, each entry with its reason; a study may state its own."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite

from ..data.errors import InputError


@dataclass(frozen=True, slots=True)
class Priors:
    """Beliefs of the hierarchical model; logit scale unless a unit is named.

    A `_scale` is that of a half-normal, a `_sd` that of a normal.
    """

    hazard_centre: float = 1.3  # expit(1.3) = .79: public drafters pass a position with chance .6 to .95
    hazard_centre_sd: float = 0.5  # over suites; with their spread 90 % of suites from .53 to .92
    position_sd: float = 0.65  # how far one position's mean lies from the average over positions; .7 within a suite
    suite_scale: float = (
        0.5  # suites of prompts differ most: averages over positions from .6 to .95 on one public server
    )
    suite_position_scale: float = 0.3  # a suite's own shape over positions
    cell_scale: float = (
        0.5  # one suite's prompts at another context differ by up to 1, at another batch by .1 (public runs)
    )
    cell_position_scale: float = 0.3  # a cell's own shape over positions
    run_scale: float = 0.3  # repetitions of one cell: public C=8 grids spread by about .1
    overdispersion_scale: float = (
        0.003  # 1/concentration; 0 is a binomial, .003 adds 6 to a variance of 1 at 2,000 rounds
    )
    exposure_power: float = 1.0  # p of the tail (h^p + (1 - h^p) u)^(1/p): 1 is linear between hazard and 1
    exposure_shape: float = 1.0  # q of u = 1 - (1 - U)^(1/q): 1 is uniform on [h, 1], large stays near h
    rejected_gap_scale: float = 1.0  # kappa: a rejected round is verified on with lower odds than an accepted one
    masked_gap_scale: float = 2.0  # delta: what is masked is accepted with lower odds; 0 is ignorable censoring
    transport_scale: float = 0.05  # mean step .04; at a hazard of .79 and five positions dE/E is .39 of it: 1.5 %
    time_centre_ms: float = 50.0  # a decode step of a server of today
    time_centre_sd: float = 1.0  # of the log: 90 % from 10 to 260 ms
    run_time_centre: float = 0.01  # median of the log's spread between repetitions of one arm; no two runs are equal,
    run_time_log_sd: float = 0.7  # so it stays off zero: 90 % from .3 to 3.2 %
    request_time_centre: float = 0.01  # likewise between the requests of one run
    request_time_log_sd: float = 1.0  # 90 % from .2 to 5 %
    start_time_scale: float = 0.05  # of the log: starts of one server
    row_slope_scale: float = 5.0  # where fixed arms teach the slope; in units of the cost table
    row_slope_batch_scale: float = 0.5  # gamma: how fast the slope falls with the batch
    row_slope_alpha: float = 2.0  # Beta(2, 2) where no fixed arm teaches it: between none and all of the cost table
    row_slope_beta: float = 2.0
    overlap_alpha: float = 3.0  # Beta(3, 1): remote work is mostly hidden
    overlap_beta: float = 1.0
    overhead_top_ms: float = 0.6  # 0.6 Beta(2, 2): the screen's own range, its middle likelier

    @classmethod
    def stated(cls, scheduler: str, entries: Mapping[str, object]) -> "Priors":
        """The priors of a declared scheduler, with a study's own entries.

        Parameters
        ----------
        scheduler
            `cap_only` (exposure near 1 up to the cap), `confidence` (verified positions are likely accepted, so exposure
            lies near the hazard) or `unknown` (uniform between both).
        entries
            Names of this class with positive numbers.

        Raises
        ------
        InputError
            An entry that is no prior, or a value that is not positive and finite.
        """
        known = {entry.name for entry in fields(cls)}
        for name, value in entries.items():
            if name not in known:
                raise InputError(
                    f"priors.{name}: found an entry that is no prior; one of {', '.join(sorted(known))} would do"
                )
            good = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            if not good or (value <= 0 and name != "hazard_centre"):  # type: ignore[operator]
                raise InputError(f"priors.{name}: found no positive number; a positive finite number would do")
        shape = {"exposure_shape": SCHEDULER_SHAPES[scheduler]}
        return replace(cls(), **(shape | {name: float(value) for name, value in entries.items()}))  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, float]:
        """Every entry by name."""
        return asdict(self)


SCHEDULER_SHAPES = {
    "cap_only": 0.15,  # mean exposure 87 % of the way from the hazard to 1
    "confidence": 2.0,  # a third of the way: what is verified is mostly accepted
    "unknown": 1.0,  # anywhere between
}
"""The shape q of the exposure prior for each scheduler that a study may declare."""
