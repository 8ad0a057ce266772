"""Operators at the boundary `tools`: they change the tool descriptions that an agent gets."""
