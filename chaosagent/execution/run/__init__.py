"""One run: the live run, its doors, the crossings through them, and the trace that they write."""

__all__: list[str] = []
