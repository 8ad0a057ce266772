"""A study that was ended in whatever way goes on to the same result."""

from __future__ import annotations

import functools
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StudyError, UsageError
from chaosagent.execution.inline import InlineExecutor
from chaosagent.execution.workbench import Job, load_workbench
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import parse
from chaosagent.faults.space import Choices, Space
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store import StudyStore
from chaosagent.study.stored import decode_evaluation, encode_evaluation
from chaosagent.study.study import Study
from chaosagent.targets.loading import load_target

SPECS = tuple(contract.id for contract in default_contracts())
bench = functools.partial(load_workbench, "refund", "naive", SPECS)


def plan() -> Plan:
    found = load_target("refund")
    return Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(0, 1, 2),
        contracts=default_contracts(),
        space=Space(
            (Choices("service.lost_response", {}), Choices("service.timeout", {}), Choices("service.delay", {}))
        ),
        budget=3.3,
    )


def run(folder: Path) -> StudyResult:
    """Begin a study in a folder, or go on with it."""
    doing = plan()
    store = StudyStore.resume(folder, doing) if (folder / "study.db").exists() else StudyStore.create(folder, doing, "")
    result = Study(doing, InlineExecutor(bench()), sinks=[store], remembered=store.evaluations()).run()
    store.close(result.digest)
    return result


def essence(result: StudyResult) -> list[object]:
    return [
        result.digest,
        result.trials,
        result.executions,
        [(str(search.certificate), search.counterexample and search.counterexample.id) for search in result.searches],
    ]


@pytest.mark.parametrize(
    "schedule",
    ["", "service:payments[1]@support timeout(when=after)", "service:tokens[1] lost_response; service:orders[1] delay"],
)
def test_an_evaluation_is_read_back_as_it_was(schedule: str) -> None:
    evaluation = bench().evaluate(Job("late-parcel", 0, parse(schedule), Fingerprinting.STATE_AND_HISTORY))

    assert decode_evaluation(encode_evaluation(evaluation)) == evaluation


def test_a_second_process_is_refused_with_the_holder(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path, plan(), "")

    with pytest.raises(StudyError, match=rf"is in use by process {os.getpid()} on .* Wait for it"):
        StudyStore.resume(tmp_path, plan())

    store.close()
    StudyStore.resume(tmp_path, plan()).close()


def test_there_must_be_something_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no study to go on with\. Leave --resume out"):
        StudyStore.resume(tmp_path, plan())


CHILD = """
import runpy, sys
from pathlib import Path
runpy.run_path({file!r})["run"](Path({folder!r}))
"""


def kill_at(folder: Path, seconds: float) -> None:
    """Run a study in another process and kill that after some time."""
    child = subprocess.Popen([sys.executable, "-c", CHILD.format(file=__file__, folder=str(folder))])
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_a_study_killed_again_and_again_ends_with_the_same_result(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("study")
    rng = random.Random(seed)
    for _ in range(3):
        kill_at(folder, rng.uniform(0.4, 2.5))

    resumed = run(folder)

    assert essence(resumed) == essence(uninterrupted())
    connection = sqlite3.connect(folder / "study.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT COUNT(*) FROM trial").fetchone() == (resumed.trials,)
    connection.close()


@functools.cache
def uninterrupted() -> StudyResult:
    return Study(plan(), InlineExecutor(bench())).run()
