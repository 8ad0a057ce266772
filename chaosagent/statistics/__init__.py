"""Statistics: intervals for shares."""

__all__ = ["comparison", "intervals", "sequential"]
