"""Operators at the boundary `message`: they act on messages between agents."""

__all__ = ["corrupted", "drop", "duplicate", "misaddressed", "partition", "reorder"]
