"""Executors and the worker processes that they run jobs in, with memory limits."""

__all__: list[str] = []
