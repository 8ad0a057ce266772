"""What single searchers learn from runs."""

__all__: list[str] = []
