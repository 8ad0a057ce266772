"""What runs share is kept once, and read back as it was."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StoredDataError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import decode_evaluation, encode_evaluation
from chaosagent.faults.schedule import parse
from chaosagent.faults.space import Choices, Space
from chaosagent.sqlite_file import Checksums
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.parts import PartReader
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from tests.lab.targets.programs import Pay, Program, Read, target_of


class Kept(Sink):
    """Keeps what was executed."""

    def __init__(self) -> None:
        self.found: dict[tuple[TaskSeed, str], Evaluation] = {}

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        self.found.setdefault((at, str(evaluation.schedule)), evaluation)


@pytest.fixture
def plan() -> Plan:
    system = target_of(Program((Read(0, "x", "a"), Read(0, "y", "b"), Pay("a", "a", 1))))
    return Plan(
        target=system,
        target_reference="program",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0, 1),
        contracts=default_contracts(),
        space=Space([Choices("service.lost_response", {}), Choices("service.field_corruption", {"kind": ("null",)})]),
        budget=2.4,
    )


def test_runs_are_read_back_as_they_were_also_after_a_resume(tmp_path: Path, plan: Plan) -> None:
    for budget in (1.2, 2.4):
        kept, doing = Kept(), replace(plan, budget=budget)
        begun = (tmp_path / FILE_NAME).exists()
        store = StudyStore.resume(tmp_path, doing) if begun else StudyStore.create(tmp_path, doing, "")
        executor = InlineExecutor(doing.workbench())
        Study(doing, executor, sinks=[store, kept], earlier=store.earlier()).run()

        read = {(at, str(evaluation.schedule)): evaluation for at, evaluation in store.earlier().evaluations(())}
        store.close()

        assert {key: encode_evaluation(read[key]) for key in kept.found} == {
            key: encode_evaluation(one) for key, one in kept.found.items()
        }


def test_no_part_is_kept_twice(tmp_path: Path, plan: Plan) -> None:
    for budget in (1.2, 2.4):
        doing = replace(plan, budget=budget)
        begun = (tmp_path / FILE_NAME).exists()
        store = StudyStore.resume(tmp_path, doing) if begun else StudyStore.create(tmp_path, doing, "")
        Study(doing, InlineExecutor(doing.workbench()), sinks=[store], earlier=store.earlier()).run()
        crossings = [one for _, evaluation in store.earlier().evaluations(()) for one in evaluation.crossings]
        store.close()

    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        checksums = Checksums(database.execute("SELECT value FROM study WHERE key = 'id'").fetchone()[0])
        (last, count) = database.execute("SELECT id, count FROM part ORDER BY id DESC LIMIT 1").fetchone()
        reader = PartReader(database, tmp_path / FILE_NAME, checksums, "")
        parts = [reader.part(number, repr) for number in range(1, last + count)]
        with pytest.raises(StoredDataError, match="it is missing"):
            reader.part(last + count, repr)

    assert len(parts) == len(set(parts))
    assert len(set(crossings)) < len(crossings) / 3


def test_a_schedule_with_a_semicolon_in_a_text_is_read_back() -> None:
    text = 'service:crm[1] service.field_corruption(kind=null, field="a; b"); service:crm[2] service.lost_response'
    schedule = parse(text)

    assert decode_evaluation(encode_evaluation(Evaluation(schedule))).schedule == schedule


def test_rows_of_a_trial_stay_small(tmp_path: Path, plan: Plan) -> None:
    store = StudyStore.create(tmp_path, replace(plan, seeds=tuple(range(20))), "")
    doing = replace(plan, seeds=tuple(range(20)))
    result = Study(doing, InlineExecutor(doing.workbench()), sinks=[store]).run()
    store.close(result.digest)

    assert os.stat(tmp_path / FILE_NAME).st_size / result.trials < 400
