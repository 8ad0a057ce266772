"""Limits of a run in words, from what stopped the run."""

import pytest

from chaosagent.trace.reached_limit import reached_limit


@pytest.mark.parametrize(
    ("detail", "told", "key"),
    [
        ("2000 steps", "2000 steps (run.steps)", "run.steps"),
        (
            "the next timer is at 691200 s, the limit is 604800 s",
            "604800 s of virtual time (run.virtual_seconds)",
            "run.virtual_seconds",
        ),
        (
            "the next timer is at 6.9e+07 s, the limit is 6.048e+06 s",
            "6048000 s of virtual time (run.virtual_seconds)",
            "run.virtual_seconds",
        ),
        (
            "1000000 turns of the event loop in one run",
            "1000000 turns of the event loop (run.turns_total)",
            "run.turns_total",
        ),
        (
            "100000 turns of the event loop without any time passing",
            "100000 turns of the event loop without any time passing (run.turns)",
            "run.turns",
        ),
        ("something else", "something else", ""),
    ],
)
def test_the_text_that_stopped_a_run_names_its_limit_and_key(detail: str, told: str, key: str) -> None:
    limit = reached_limit(detail)

    assert (str(limit), limit.key) == (told, key)
