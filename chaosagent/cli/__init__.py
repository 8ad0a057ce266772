"""The command line: one file per verb."""

__all__: list[str] = []
