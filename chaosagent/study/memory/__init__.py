"""What a study keeps of its runs while it searches: the newest in memory, the others on disk."""

__all__: list[str] = []
