"""Conformance suites for operators and searchers, and Hypothesis strategies."""
