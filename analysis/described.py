"""Units and labels of what is stored, by the name of a variable and of its group."""

import xarray as xr

from ..data.words import Label

RATE, SHARE, MS, TOKENS, ROUNDS, LOGIT = "tok/s", "1", "ms", "tokens", "rounds", "logit"
UNITS = {
    RATE: "rate rate_low rate_high rate_bound current current_measured prior_rate expected_rate expected_loss evppi evppi_error "
    "evpi evpi_error",
    SHARE: "gain gain_low gain_high gain_cap gain_current inside_envelope contraction p_best p_within p_gain p_gain_claimed "
    "p_gain_claimed_high one_sign passes survival survival_bound fixed_survival run_fixed_survival run_chance exposure p_verified "
    "verified_chance acceptance overlap share share_error interaction runs_share rounds_share",
    MS: "step_ms step_base_ms step_low_ms step_high_ms round_ms overhead_ms remote_ms reference_ms anchor_ms config_ms origin_ms",
    TOKENS: "tokens tokens_bound prior_tokens verified_tokens",
    ROUNDS: "request_rounds accepted verified accepted_by_verified rounds",
    LOGIT: "delta kappa omega omega_cap s_suite s_suite_position s_cell s_run s_cell_position s_transport",
}
UNIT_OF = {name: unit for unit, names in UNITS.items() for name in names.split()}
LABELS = {"runs": Label.MEASURED, "prior": Label.ASSUMED, "prior_predictive": Label.ASSUMED}
MEASURED_OF_SCREEN = ("step_ms", "step_low_ms", "step_high_ms", "runs", "rounds")


def described(path: str, group: xr.Dataset) -> xr.Dataset:
    """Give each number of a group its unit and label; what arithmetic carried along from its inputs is dropped.

    Parameters
    ----------
    path
        The group's path, such as `posterior/tp2`.
    group
        Its variables. Those of `comparison` and `decision` have a label of each cell and depth beside them, `label`.
    """
    top = path.partition("/")[0]
    out = group.copy()
    for name, variable in group.data_vars.items():
        attrs = {key: value for key, value in variable.attrs.items() if key != "units"}
        if variable.dtype.kind in "fiub":
            label = LABELS.get(top, Label.ESTIMATED)
            if top == "screen" and name in MEASURED_OF_SCREEN:
                label = Label.MEASURED
            if top == "posterior" and name in ("overlap", "overhead_ms"):  # nothing measured speaks of them
                label = Label.ASSUMED
            attrs["label"] = label.value
            if str(name) in UNIT_OF:
                attrs["units"] = UNIT_OF[str(name)]
        out[name].attrs = attrs
    return out
