"""A page for each known pattern of failure: what happens, the usual fix, and when the pattern is named."""

__all__: list[str] = []
