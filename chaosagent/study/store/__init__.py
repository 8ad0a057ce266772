"""The store of a study: one SQLite file with every execution, trial and result."""

__all__: list[str] = []
