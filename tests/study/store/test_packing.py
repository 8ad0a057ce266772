"""Compressed evaluations come back as they were, and take little room."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.scripted import six_crossings
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.store.packing import DICTIONARY_BYTES, Packer, unpacked
from chaosagent.study.store.study_store import FILE_NAME, StudyStore

BYTES_A_TRIAL = 400
LOST = Choices("service.lost_response", {"when": ("before", "after")})
LATE = Choices("service.timeout", {"when": ("before", "after")})


def plan_of(trials: int) -> Plan:
    return Plan(
        target=six_crossings,
        target_reference=six_crossings.name,
        config=next(iter(six_crossings.configs.values())),
        tasks=tuple(six_crossings.tasks.values()),
        seeds=(0,),
        contracts=default_contracts(),
        space=Space([LOST, LATE]),
        budget=4.4,
        limits=StudyLimits(trials_max=trials),
    )


@given(st.lists(st.binary(max_size=3 * DICTIONARY_BYTES // 2), max_size=8))
def test_what_was_packed_is_unpacked(told: list[bytes]) -> None:
    packer = Packer()
    dictionaries: dict[int | None, bytes] = {None: b""}
    packed = []
    for data in told:
        packed.append(packer.pack(data))
        dictionary = packer.next_dictionary
        if dictionary is not None:
            dictionaries[len(dictionaries)] = dictionary
            packer.use(len(dictionaries) - 1, dictionary)

    assert [unpacked(one.data or b"", dictionaries[one.dictionary]) for one in packed] == told
    assert len(dictionaries) <= 2


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b"", lambda _: b"abc"])
def test_bytes_that_were_not_packed_are_refused(damage: object) -> None:
    data = Packer().pack(b"some of this " * 9).data or b""

    with pytest.raises(ValueError, match=r"."):
        unpacked(damage(data))  # type: ignore[operator]


def test_a_trial_takes_few_bytes(tmp_path: Path) -> None:
    plan = plan_of(1_000)
    store = StudyStore.create(tmp_path, plan, "")
    result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
    store.close(result.digest)

    assert (tmp_path / FILE_NAME).stat().st_size <= BYTES_A_TRIAL * result.trials


def test_a_study_that_goes_on_goes_on_with_its_dictionary(tmp_path: Path) -> None:
    plan = plan_of(200)
    for trials in (100, 200):
        plan = plan_of(trials)
        store = StudyStore.create(tmp_path, plan, "") if trials == 100 else StudyStore.resume(tmp_path, plan)
        earlier = {} if trials == 100 else {"earlier": store.earlier()}
        result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], **earlier).run()  # type: ignore[arg-type]
        store.close(result.digest)

    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("SELECT count(*) FROM dictionary").fetchone() == (1,)
    store = StudyStore.resume(tmp_path, plan)
    again = {evaluation.schedule: evaluation for _, evaluation in store.earlier().evaluations}
    store.close()
    assert len(again) >= 200
