"""Governance as part of the target: the mediator, and capabilities."""

__all__ = ["action", "capability", "mediator"]
