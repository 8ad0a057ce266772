"""A fix holds only if it also does where nothing was run before, and where texts are hashed otherwise."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.api.replays.replaying import records_at, replay_all
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.store import write_record
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.targets.target import Run
from tests.replays.desk import LOST, Desk, record_of

FIX = """
import contextlib, random

from tests.replays.desk import Desk, desk

PAID = set()

async def behave(run):
    world = Desk(run)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7{key})
            PAID.add(7)
            return "paid"
        {unless}
    return "unclear"

agent = desk(behave)
"""


CACHED = """
import contextlib

from tests.replays.desk import Desk, desk

PAID = set()

async def behave(run):
    world = Desk(run)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            if 7 not in PAID:
                await world.payments("pay", order=7)
            PAID.add(7)
            return "paid"
    return "unclear"

agent = desk(behave)
"""


async def retries(run: Run) -> str:
    world = Desk(run)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
            return "paid"
    return "unclear"


@pytest.fixture(autouse=True)
def one_cold_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be three processes, among their hash seeds two kinds; starting the eight takes seven seconds."""
    monkeypatch.setattr("chaosagent.replays.cold_runs.HASH_SEEDS", 3)


def replayed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    unless: str = "pass",
    *,
    by_chance: bool = False,
    body: str = FIX,
) -> Replay:
    monkeypatch.chdir(tmp_path)
    Path("fixed.py").write_text(body.format(key=key, unless=unless))
    record = record_of(retries, LOST)
    if by_chance:
        record = replace(record, confirmation=Confirmation(20, 20, 0, 20))
    path = write_record(tmp_path / "records", record)
    (rerun,) = replay_all(records_at([path]), mode="schedule", target="fixed.py:agent")
    return rerun.replay


def test_a_fix_holds_in_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert replayed(tmp_path, monkeypatch, ', key="7"').outcome is ReplayOutcome.HELD


def test_what_an_earlier_run_has_left_in_the_process_is_no_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = replayed(tmp_path, monkeypatch, "", "if 7 in PAID: return 'paid'")

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert replay.detail.startswith("at-most-once violated, though it holds where other runs were made before")
    assert "runs change PAID in fixed.py" in replay.detail


def test_a_fix_that_hangs_on_the_order_of_a_set_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = replayed(tmp_path, monkeypatch, ', key="".join(set("abcdefghijkl"))')

    assert replay.outcome is ReplayOutcome.ERROR
    assert replay.detail.startswith(
        "the target does not repeat its runs, so it cannot be judged: the run without faults"
    )
    assert "the order of a set" in replay.detail


def test_a_fix_by_chance_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = replayed(tmp_path, monkeypatch, ", key=str(random.SystemRandom().random())", "return 'unclear'")

    assert replay.outcome is ReplayOutcome.ERROR
    assert "random numbers not drawn from run.rng(label)" in replay.detail


def test_what_an_earlier_run_has_left_in_the_environment_is_no_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAID", "")
    seen = "(__import__('os').environ['PAID'])"
    replay = replayed(
        tmp_path, monkeypatch, ") or __import__('os').environ.update(PAID='7'", f"if {seen}: return 'paid'"
    )

    assert replay.outcome is ReplayOutcome.VIOLATED


def test_a_fix_that_one_of_two_hash_seeds_hides_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = replayed(tmp_path, monkeypatch, "", "if hash('b') % 2: return 'unclear'")

    assert replay.outcome is ReplayOutcome.VIOLATED


def test_chance_that_no_repeat_shows_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = replayed(tmp_path, monkeypatch, ', key="7" if random.random() < 2 else None')

    assert replay.outcome is ReplayOutcome.HELD
    assert any(note.startswith("the target reads random.random() at fixed.py:") for note in replay.notes), replay.notes


def test_a_fix_of_a_target_that_answers_by_chance_is_repeated_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = replayed(tmp_path, monkeypatch, "", "if 7 in PAID: return 'paid'", by_chance=True)

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert "at-most-once violated in 3 of 3 repeats in processes of their own" in replay.detail, replay.detail


def test_a_fix_of_a_target_that_answers_by_chance_holds_in_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = replayed(tmp_path, monkeypatch, ', key="7"', by_chance=True)

    assert replay.outcome is ReplayOutcome.HELD
    assert not any("processes of their own" in note for note in replay.notes), replay.notes


def test_a_fault_that_never_lands_as_a_cache_is_filled_is_no_proof_of_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = replayed(tmp_path, monkeypatch, "", body=CACHED)

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert "runs change PAID in fixed.py" in replay.detail
