"""Operators at the boundary `service`: they act on services and tools."""
