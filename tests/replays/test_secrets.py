"""Records of targets with secrets: today's calls are compared as the record holds its own, and shown so."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.targets.target import Run
from tests.replays.desk import LOST, Desk, desk, record_of

SECRETS = ("sk-[0-9]+",)


def pays_with(*keys: str) -> Callable[[Run], Awaitable[str]]:
    """Return a behaviour that tries to pay with one key after the other."""

    async def pays(run: Run) -> str:
        world = Desk(run)
        for key in keys:
            with contextlib.suppress(ConnectionError):
                await world.payments("pay", order=7, key=key)
                return "paid"
        return "unclear"

    return pays


@pytest.mark.parametrize(
    ("today", "told"), [(("sk-1", "sk-1"), ()), (("sk-2", "sk-2"), ("acts on a call with other arguments",))]
)
def test_a_call_with_the_recorded_secret_is_the_recorded_call(today: tuple[str, ...], told: tuple[str, ...]) -> None:
    record = record_of(pays_with("sk-1", "sk-3"), LOST, secrets=SECRETS)

    replay = rerun_schedule(record, replace(desk(pays_with(*today)), secrets=SECRETS))

    assert replay.outcome is ReplayOutcome.HELD
    assert len(replay.notes) == len(told)
    assert all(part in note for part, note in zip(told, replay.notes, strict=True))
    assert "sk-" not in str(replay)
