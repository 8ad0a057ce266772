"""Operators on real TCP connections."""
