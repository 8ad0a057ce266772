"""Ray actors run a study as this process does, and one that dies takes no other run with it."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.ray_pool import RayExecutor
from chaosagent.execution.workers.workbench import Job, load_workbench
from chaosagent.faults.evaluation import Status
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.loading import load_target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ray,
    # Ray leaves sockets and files to the interpreter's end.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
SPECS = tuple(contract.id for contract in default_contracts())
refund_bench = functools.partial(load_workbench, "refund", "naive", SPECS)
TOUCHY = """
import os, signal
from chaosagent import Outcome, target

@target
async def touchy(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
    try:
        await service("get")
    except TimeoutError:
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome("done", success=True)
"""


@pytest.mark.usefixtures("ray")
def test_a_study_finds_the_same_on_ray_as_here() -> None:
    found = load_target("refund")
    plan = Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(0, 1),
        contracts=default_contracts(),
        space=Space((Choices("service.lost_response", {}), Choices("service.timeout", {}))),
        budget=2.2,
    )
    here = Study(plan, InlineExecutor(refund_bench())).run()

    pool = RayExecutor(refund_bench, workers=2)
    try:
        there = Study(plan, pool).run()
    finally:
        pool.close()

    assert (there.digest, there.trials, there.executions) == (here.digest, here.trials, here.executions)
    assert [str(search.certificate) for search in there.searches] == [
        str(search.certificate) for search in here.searches
    ]


@pytest.mark.usefixtures("ray")
def test_an_actor_replaces_its_worker_that_dies_and_no_other_run_is_lost(tmp_path: Path) -> None:
    (tmp_path / "touchy.py").write_text(TOUCHY)
    setup = functools.partial(load_workbench, "touchy.py:touchy", "default", SPECS, folder=tmp_path)
    jobs = [EMPTY, parse("service:s[1] timeout(when=before)"), *[EMPTY] * 22]
    pool = RayExecutor(setup, workers=2)
    try:
        for ticket, schedule in enumerate(jobs):
            pool.submit(ticket, Job("default", 0, schedule))
        finished = dict(pool.next_finished() for _ in jobs)
    finally:
        pool.close()

    errors = {ticket: evaluation.error for ticket, evaluation in finished.items() if evaluation.status is Status.ERROR}
    assert sorted(finished) == list(range(len(jobs)))
    assert set(errors) == {1}
    assert "killed by signal 9 (SIGKILL), and so ended each of the 3 workers" in errors[1]


@pytest.mark.usefixtures("ray")
def test_a_target_that_cannot_be_loaded_is_told_at_once() -> None:
    setup = functools.partial(load_workbench, "no-such-target", "default", SPECS)

    with pytest.raises(ChaosAgentError, match="unknown target 'no-such-target'"):
        RayExecutor(setup, workers=1)


LOSING = """
import functools
from chaosagent.execution.workers.ray_pool import RayExecutor
from chaosagent.execution.workers.workbench import Job, load_workbench
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.loading import load_target

setup, task_id = functools.partial(load_workbench, "refund", "naive", ()), next(iter(load_target("refund").tasks))
pool = RayExecutor(setup, workers=1, warn=print)
import ray
(raylet,) = ray._private.worker._global_node.all_processes["raylet"]
raylet.process.kill()
raylet.process.wait()
for ticket in range(20):
    pool.submit(ticket, Job(task_id, ticket, EMPTY))
finished = dict(pool.next_finished() for _ in range(20))
here = setup()
print("equal:", finished == {ticket: here.evaluate(Job(task_id, ticket, EMPTY)) for ticket in range(20)})
pool.close()
print("left:", ray.is_initialized())
"""


def test_a_ray_of_our_own_that_loses_its_raylet_is_started_again() -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")

    done = subprocess.run([sys.executable, "-c", LOSING], capture_output=True, text=True, timeout=150, check=False)

    assert done.returncode == 0, done.stderr
    assert "Ray on this machine died and is started again" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["equal: True", "left: False"]
