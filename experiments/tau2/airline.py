"""The airline of tau2-bench."""

from chaosagent.experiments.tau2.domains import domain

airline = domain("airline")
