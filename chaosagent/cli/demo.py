"""`chaosagent demo`."""

from __future__ import annotations


def demo() -> int:
    """Not there yet."""
    return 4
