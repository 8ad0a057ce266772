"""Properties of traces: contracts, the monitors that check them, and templates."""

__all__ = ["contract", "custom", "pattern", "settings", "templates", "temporal"]
