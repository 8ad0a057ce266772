"""Operators at the boundary `tools`: they act on what an agent is told of its tools."""

__all__ = ["misleading", "missing", "poisoned", "reordered"]
