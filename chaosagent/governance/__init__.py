"""Governance as part of the target: the mediator, and capabilities."""
