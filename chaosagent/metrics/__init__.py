"""Numbers from the trials of a study."""

__all__ = ["robustness"]
