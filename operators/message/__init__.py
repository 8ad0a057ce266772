"""Operators at the boundary `message`: they act on messages between agents."""
