"""The same hierarchy in numpyro, under its own sampler."""

from typing import Any

import numpy as np
from draftdepth.models.priors import Priors
from draftdepth.models.sampling import Settings
from reduced import SMALLEST, Reduced


def numpyro_program(held: Reduced, priors: Priors, settings: Settings) -> Any:
    """A sampler of the plain hierarchy, all effects non-centred; chains side by side, in double precision."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.set_host_device_count(settings.chains)
    numpyro.enable_x64()  # differences of log gammas at concentrations of 1e7 are noise in single precision
    mean_of_runs = jax.numpy.asarray(held.share_of_run)

    def hierarchy() -> None:
        extra = numpyro.sample("overdispersion", dist.HalfNormal(priors.overdispersion_scale))
        centre = numpyro.sample("centre", dist.Normal(priors.hazard_centre, priors.hazard_centre_sd))
        position = numpyro.sample("position", dist.ZeroSumNormal(priors.position_sd, (held.deepest,)))
        theta = centre + position[held.position]
        for name, level in held.levels.items():
            spread = numpyro.sample(f"s_{name}", dist.HalfNormal(level.scale))
            theta += spread * numpyro.sample(name, dist.Normal().expand([level.size]).to_event(1))[level.of]
        s_run = numpyro.sample("s_run", dist.HalfNormal(held.run.scale))
        run = s_run * numpyro.sample("run", dist.Normal().expand([held.run.size]).to_event(1))
        numpyro.deterministic("hazards", jax.numpy.concatenate([theta, theta + mean_of_runs @ run]))
        h = jax.nn.sigmoid(theta[held.place_of_step] + run[held.run_of_step])
        size = 1.0 / (extra + SMALLEST)
        numpyro.sample("accepted", dist.BetaBinomial(h * size, (1 - h) * size, held.tried), obs=held.taken)

    return MCMC(
        NUTS(hierarchy, target_accept_prob=settings.target_accept), num_warmup=settings.tune,
        num_samples=settings.draws, num_chains=settings.chains, progress_bar=False,
    )  # fmt: skip


def numpyro_draws(program: Any, seed: int) -> tuple[np.ndarray, int]:
    """Draws of the hazards (chain, draw, entry), and how many steps diverged."""
    import jax

    program.run(jax.random.PRNGKey(seed), extra_fields=("diverging",))
    draws = np.asarray(program.get_samples(group_by_chain=True)["hazards"])
    return draws, int(np.asarray(program.get_extra_fields()["diverging"]).sum())
