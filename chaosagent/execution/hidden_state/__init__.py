"""State that no trace shows: variables of modules, files, clocks and random numbers."""

__all__: list[str] = []
