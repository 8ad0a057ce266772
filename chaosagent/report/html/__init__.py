"""The report page: one HTML file that needs nothing else."""

__all__: list[str] = []
