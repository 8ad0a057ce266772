"""How schedules are drawn from what was seen."""

__all__ = ["draft"]
