"""Operators at the boundary `prompt`: they act on prompts."""
