"""Model floor: priors, likelihoods, sampling and its gate."""
