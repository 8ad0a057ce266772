"""Conformance suites for operators, searchers and adapters, and Hypothesis strategies."""

__all__ = ["adapters", "crossings", "desk", "enumeration", "operators", "searchers"]
