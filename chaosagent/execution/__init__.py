"""Running a target under a schedule, here or in worker processes."""

__all__: list[str] = []
