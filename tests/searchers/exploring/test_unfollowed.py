"""What a run passed and no run followed undisturbed is led to alone, once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.exploring.unfollowed import INJECTIONS_MAX, UnfollowedStates
from chaosagent.searchers.seen.states import States
from chaosagent.targets.target import Run, target
from chaosagent.testing.bench import Bench
from chaosagent.vocabulary import Outcome, Task

LOST = "service.lost_response(when=before)"
COUNT = INJECTIONS_MAX + 2


@target(name="patient", tasks=[Task("t")])
async def patient(_: Task, run: Run) -> Outcome:
    """Asks several services, notes which are silent, and gives up when the last is."""
    missing: list[Any] = []
    for number in range(COUNT):
        try:
            await run.service(f"s{number}", {"get": lambda: 1}, read_only=True)("get")
        except ConnectionError:
            if number == COUNT - 1:
                return Outcome("stopped", success=True)
            missing.append(number)
        run.checkpoint(str(number), list(missing), clock_matters=False, artifacts_matter=False)
    return Outcome("done", success=not missing)


@pytest.fixture
def bench() -> Bench:
    return Bench(
        patient, [parse_contract("objective")], Space([Choices("service.lost_response", {"when": ("before",)})])
    )


def silent(*numbers: int) -> Schedule:
    return parse("; ".join(f"service:s{number}[1] {LOST}" for number in numbers))


def proposals(unfollowed: UnfollowedStates, *taken: Schedule) -> set[Schedule]:
    """Return all that is drawn."""
    drawn = (unfollowed.draw(random.Random(seed), taken.__contains__) for seed in range(50))
    return {schedule for schedule in drawn if schedule is not None}


def told(bench: Bench, *schedules: Schedule) -> UnfollowedStates:
    states = States(0, bench.space.model, 0)
    unfollowed = UnfollowedStates(states)
    for schedule in schedules:
        states.take(bench.run(schedule))
        unfollowed.learn()
    return unfollowed


def test_faults_whose_traces_others_hid_are_led_to_alone(bench: Bench) -> None:
    unfollowed = told(bench, silent(), silent(0, 1, COUNT - 1))

    assert proposals(unfollowed) == {silent(0), silent(0, 1)}
    assert proposals(unfollowed, silent(0)) == {silent(0, 1)}


def test_what_was_followed_is_left_out(bench: Bench) -> None:
    unfollowed = told(bench, silent(), silent(0, 1, COUNT - 1), silent(0), silent(0, 1))

    assert unfollowed.count == 0
    assert proposals(unfollowed) == set()


def test_what_only_many_faults_lead_to_is_not_proposed(bench: Bench) -> None:
    unfollowed = told(bench, silent(), silent(*range(COUNT)))

    assert {len(schedule) for schedule in proposals(unfollowed)} == set(range(1, INJECTIONS_MAX + 1))
