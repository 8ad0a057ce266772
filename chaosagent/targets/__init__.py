"""Targets: the systems under test, and the doors through which they meet the world."""

__all__ = ["deterministic", "loading", "target"]
