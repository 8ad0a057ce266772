"""Operators at the boundary `memory`: they act on memory."""
