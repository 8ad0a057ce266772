"""Operators at the boundary `model`: they act on the model."""
