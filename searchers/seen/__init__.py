"""What executed runs have shown, as searchers keep it."""

__all__ = ["pool", "trial_log"]
