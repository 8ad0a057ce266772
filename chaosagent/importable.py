"""Letting a user's own modules be imported."""

from __future__ import annotations

import sys
from pathlib import Path


def make_importable(folder: Path) -> None:
    """Let modules of a folder be imported; behind everything installed, so that they shadow nothing."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
