"""The event loops of runs: virtual time, tasks in a fixed order, and threads that take turns."""

__all__: list[str] = []
