"""How much slow tests look at: a part of their cases each time, and all of them with `make test-thorough`."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

IS_THOROUGH = os.environ.get("CHAOSAGENT_THOROUGH", "") not in ("", "0")
only_thorough = pytest.mark.skipif(not IS_THOROUGH, reason="for `make test-thorough`")


def part_of(count: int) -> int:
    """Return how many of a number of cases are looked at: a third of them, or all."""
    return count if IS_THOROUGH else -(-count // 3)


def cases(count: int) -> settings:
    """Return the settings of a property of whole searches: so many cases, or a part, and none is made smaller."""
    phases = (Phase.reuse, Phase.generate)
    return settings(max_examples=part_of(count), deadline=None, suppress_health_check=list(HealthCheck), phases=phases)
