"""Is the target deterministic? The preflight, repeated runs, and where two runs diverge."""

__all__: list[str] = []
