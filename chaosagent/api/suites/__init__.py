"""Regression suites: which records are in them, and which they no longer need."""

__all__: list[str] = []
