"""Reducing a violation to a minimal counterexample."""

__all__: list[str] = []
