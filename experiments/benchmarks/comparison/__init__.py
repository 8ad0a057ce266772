"""Searchers side by side on real targets, at equal executions."""
