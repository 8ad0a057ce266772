"""The shop of tau2-bench."""

from chaosagent.experiments.tau2.domains import domain

retail = domain("retail")
