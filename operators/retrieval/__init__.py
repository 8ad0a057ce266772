"""Operators at the boundary `retrieval`: they act on retrieval."""
