"""The command that shows what the tool does."""

__all__: list[str] = []
