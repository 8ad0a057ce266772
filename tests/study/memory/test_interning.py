"""What runs told shares what is equal in it, and means what it meant before."""

from __future__ import annotations

import pickle

import pytest

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.study.memory import interning as sharing
from chaosagent.study.memory.interning import Interning
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from tests.lab.targets.programs import Program, Read, target_of

LOST = parse("service:s1[1]@agent service.lost_response(when=before)")


def bench() -> Bench:
    program = Program((Read(0, "x", "a"), Read(1, "y", "b")))
    return Bench(target_of(program), (FinalNeedle(share=6, number=5),), Space((Choices("service.lost_response", {}),)))


def told(system: Bench, schedule: Schedule) -> Evaluation:
    """Return a run as another process hands it over: with nothing that it shares."""
    run: Evaluation = pickle.loads(pickle.dumps(system.run(schedule)))
    return run


def test_equal_crossings_and_schedules_are_one_object() -> None:
    system, shared = bench(), Interning()
    nominal, lost = told(system, EMPTY), told(system, LOST)
    assert nominal.crossings[0] is not lost.crossings[0]

    shared.share(EMPTY, nominal)
    shared.share(LOST, lost)

    assert nominal.crossings[0] is lost.crossings[0]
    assert nominal.crossings[1] != lost.crossings[1]
    assert lost.schedule is LOST
    assert lost.effective is LOST


@pytest.mark.parametrize("crossings_max", [1, sharing.CROSSINGS_MAX])
def test_what_a_run_told_stays_as_it_was(crossings_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "CROSSINGS_MAX", crossings_max)
    system, shared = bench(), Interning()

    for schedule in (EMPTY, LOST, EMPTY):
        before, after = told(system, schedule), told(system, schedule)
        shared.share(schedule, after)
        assert after == before


def test_what_landed_otherwise_than_asked_stays_apart() -> None:
    system, everywhere = bench(), parse("service:s1[*] service.lost_response(when=before)")
    run = told(system, everywhere)

    Interning().share(everywhere, run)

    assert run.schedule is everywhere
    assert run.effective != everywhere
