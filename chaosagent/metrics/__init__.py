"""Numbers from the trials of a study."""

__all__ = ["area_interval", "robustness"]
