"""Commands for regression suites."""

__all__: list[str] = []
