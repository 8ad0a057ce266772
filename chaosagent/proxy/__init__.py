"""The doors of a run as HTTP servers on loopback, for targets in any language."""

__all__: list[str] = []
