"""Stochastic targets: worlds of frozen answers, races, fresh runs and sequential tests."""

__all__: list[str] = []
