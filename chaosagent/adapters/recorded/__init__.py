"""Recorded conversations as targets: see `recording`, `conversation` and `conversation_file`."""

__all__: list[str] = []
