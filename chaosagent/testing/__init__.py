"""Conformance suites for operators and searchers, and Hypothesis strategies."""

__all__ = ["crossings", "enumeration", "operators", "searchers"]
