"""Durations in words."""

from __future__ import annotations

import pytest

from chaosagent.report.status_page import readable


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (89.4, "89 s"),
        (119.7, "2 min"),
        (150, "2 min 30 s"),
        (599.9, "10 min"),
        (660, "11 min"),
        (5_400, "1.5 h"),
    ],
)
def test_a_limit_of_a_few_minutes_keeps_its_seconds(seconds: float, told: str) -> None:
    assert readable(seconds) == told
