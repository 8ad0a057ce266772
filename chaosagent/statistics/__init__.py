"""Statistics: intervals for shares and means, and tests; those in `exact` and `resampling` need an extra."""

__all__ = ["comparison", "exact", "intervals", "resampling", "sequential"]
