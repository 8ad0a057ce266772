"""Where the runs happen changes nothing of what a study finds, and a dead worker takes nothing with it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import Job, load_workbench
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.loading import load_target
from tests.command_line import PROGRAM
from tests.thorough import IS_THOROUGH

CHOICES = (
    Choices("service.field_corruption", {}, interfaces=("service:tokens",)),
    Choices("service.lost_response", {}),
    Choices("service.timeout", {}),
)


SPECS = tuple(contract.id for contract in default_contracts())
refund_bench = functools.partial(load_workbench, "refund", "naive", SPECS)


def refund_plan() -> Plan:
    found = load_target("refund")
    return Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(0, 1),
        contracts=default_contracts(),
        space=Space(CHOICES),
        budget=2.2,
    )


def essence(result: StudyResult) -> list[object]:
    """What must not depend on where the runs happened."""
    return [
        result.digest,
        result.trials,
        result.executions,
        [
            (search.task_id, search.seed, search.contract, str(search.certificate), search.counterexample
             and (str(search.counterexample.schedule), search.counterexample.trace.digest))
            for search in result.searches
        ],
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_finds_the_same_in_worker_processes_as_here(workers: int) -> None:
    plan = refund_plan()
    here = Study(plan, InlineExecutor(refund_bench())).run()

    pool = ProcessExecutor(refund_bench, workers=workers)
    try:
        there = Study(plan, pool).run()
    finally:
        pool.close()

    assert essence(there) == essence(here)
    assert here.counterexamples


STUDIES = {
    "triage": """
target: triage
config: naive
tasks: [refund-damaged, missing-parcel]
seeds: [0, 1]
contracts: [default, objective]
budget: 2.3
operators: [service.timeout, service.lost_response, retrieval.truncate, model.refusal, memory.stale_read]
search: {trials: 40, audit: 4}
""",
    "refund": """
target: refund
config: naive
seeds: [0, 1]
budget: 2.2
operators: [service.timeout, service.lost_response, service.error_status, service.field_corruption]
search: {trials: 400}
""",
    "several": """
target: triage
config: naive
tasks: [refund-damaged, missing-parcel]
contracts: [default, objective]
budget: 1.3
operators: [service.error_status, service.field_corruption, model.refusal]
search: {trials: 80, all_minimal: true}
""",
    "online": """
target: triage
config: naive
tasks: [refund-damaged, missing-parcel]
contracts: [default, objective]
budget: 3.3
operators: [service.timeout, service.lost_response, retrieval.truncate, model.refusal, memory.stale_read]
search: {searcher: adversary, trials: 40, lookahead: 8}
""",
}
TRIALS = """
SELECT task, seed, contract, number, purpose, schedule, landed, status, digest, ending, success, steps, verdict,
    margin, unfair
FROM trial JOIN run USING (task, seed) WHERE run.id = trial.execution
ORDER BY task, seed, contract, number
"""
STUDIES_OF = {
    "process": tuple(STUDIES) if IS_THOROUGH else ("refund", "several", "online"),
    "ray": tuple(STUDIES) if IS_THOROUGH else ("several",),  # test_ray_pool.py searches the refund desk
}
EXECUTORS = [
    ("process --workers 2", "4242"),
    pytest.param("ray --workers 2", "7", marks=pytest.mark.ray),
]


def found_by(study: str, executor: str, hash_seed: str, folder: Path) -> dict[str, object]:
    """Everything that a study has found, as it stands in its folder."""
    file, out = folder / f"{study}.yaml", folder / f"{study}-{executor.replace(' ', '')}-{hash_seed}"
    file.write_text(STUDIES[study])
    command = f"search {file} --out {out} --json --executor {executor}"
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode in (1, 3), answer.stderr
    with contextlib.closing(sqlite3.connect(out / "study.db")) as database:
        return {
            "digest": json.loads(answer.stdout)["digest"],
            "trials": database.execute(TRIALS).fetchall(),
            "searches": [row[:-1] for row in database.execute("SELECT * FROM search")],  # checksums are of one file
            "counterexamples": [row[:-1] for row in database.execute("SELECT * FROM counterexample ORDER BY id")],
            "runs": database.execute("SELECT task, seed, schedule, digest FROM run ORDER BY 1, 2, 3").fetchall(),
            "records": sorted(path.name for path in (out / "replays").glob("*")),
        }


@pytest.mark.slow
@pytest.mark.parametrize(("executor", "hash_seed"), EXECUTORS)
def test_a_study_finds_the_same_wherever_it_runs_and_whatever_the_hash_seed(
    executor: str, hash_seed: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for study in STUDIES_OF[executor.partition(" ")[0]]:
        there = found_by(study, executor, hash_seed, tmp_path_factory.mktemp("there"))

        assert there == found_here(study, tmp_path_factory)
        assert there["records"]
        trials = there["trials"]
        assert isinstance(trials, list)
        assert len({tuple(trial[:3]) for trial in trials}) >= 16  # tasks, seeds and contracts
        assert len(trials) > 500


HERE: dict[str, dict[str, object]] = {}


def found_here(study: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    if study not in HERE:
        HERE[study] = found_by(study, "inline", "0", tmp_path_factory.mktemp("here"))
    return HERE[study]


TOUCHY = """
import os, signal
from chaosagent.targets.target import target
from chaosagent.vocabulary import Outcome, Task

@target(tasks=[Task("only")])
async def touchy(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
    try:
        await service("get")
    except TimeoutError:
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome("done", success=True)
"""


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_no_other_run_is_lost(tmp_path: Path) -> None:
    (tmp_path / "touchy.py").write_text(TOUCHY)
    setup = functools.partial(load_workbench, "touchy.py:touchy", "default", SPECS, folder=tmp_path)
    jobs = [EMPTY, parse("service:s[1] timeout(when=before)"), *[EMPTY] * 22]
    pool = ProcessExecutor(setup, workers=2)
    try:
        for ticket, schedule in enumerate(jobs):
            pool.submit(ticket, Job("only", 0, schedule))
        finished = dict(pool.next_finished() for _ in jobs)
    finally:
        pool.close()

    assert sorted(finished) == list(range(len(jobs)))
    errors = {ticket: evaluation for ticket, evaluation in finished.items() if evaluation.status is Status.ERROR}
    assert set(errors) == {1}
    assert "killed by signal 9" in errors[1].error
    assert len({evaluation.digest for ticket, evaluation in finished.items() if ticket not in errors}) == 1


CRASHY = """
import os
from chaosagent import Outcome, Task, target

@target(tasks=[Task("only")])
async def crashy(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}, "put": lambda: {"value": 1}})
    for operation in ("get", "put", "get", "get", "put"):
        try:
            await service(operation)
        except TimeoutError:
            if operation == "put":
                os._exit(7)
        except ConnectionError:
            return Outcome("gave up", success=False)
    return Outcome("done", success=True)
"""


class Executed(Sink):
    """Keeps what was executed."""

    def __init__(self) -> None:
        self.evaluations: list[Evaluation] = []

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at
        self.evaluations.append(evaluation)


@pytest.mark.slow
def test_a_study_goes_on_when_runs_end_their_workers_and_its_proof_stops_below_them(tmp_path: Path) -> None:
    (tmp_path / "crashy.py").write_text(CRASHY)
    found = load_target("crashy.py:crashy", folder=tmp_path)
    setup = functools.partial(load_workbench, "crashy.py:crashy", "default", SPECS, folder=tmp_path)
    plan = Plan(
        target=found,
        target_reference="crashy",
        config=found.config("default"),
        tasks=tuple(found.tasks.values()),
        seeds=(0,),
        contracts=default_contracts(),
        space=Space(
            (Choices("service.timeout", {}), Choices("service.delay", {}), Choices("service.lost_response", {}))
        ),
        budget=1.2,
        limits=StudyLimits(error_share_max=0.9),
    )
    executed, here = Executed(), setup()
    with contextlib.closing(ProcessExecutor(setup, workers=2)) as pool:
        result = Study(plan, pool, sinks=[executed]).run()

    errors = [evaluation for evaluation in executed.evaluations if evaluation.status is Status.ERROR]
    others = [evaluation for evaluation in executed.evaluations if evaluation.status is Status.OK]
    assert 0 < result.errors == len(errors) < len(others)
    assert all("exit code 7" in error.error and error.verdicts == () for error in errors)
    assert all("[2]" in str(error.schedule) or "[5]" in str(error.schedule) for error in errors)
    assert others == [here.evaluate(Job("only", 0, told.schedule, Fingerprinting.STATE)) for told in others]
    assert not any(search.certificate.certified for search in result.searches)
    assert not any(search.certificate.safe for search in result.searches)
    assert all(f"{len(errors)} trials ended as errors" in str(search.certificate) for search in result.searches)
