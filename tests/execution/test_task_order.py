"""Equal runs that iterate sets of tasks have equal traces; see `tests.lab.task_order` for more of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from chaosagent.canonical import Plain
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, Task
from tests.lab.task_order.__main__ import Churn, digests
from tests.lab.task_order.targets import PROGRAMS, target_of

SIZES = (6, 17)
PROGRAM = """
import json, sys
from tests.lab.task_order.__main__ import Churn, digests
from tests.lab.task_order.targets import PROGRAMS, target_of

churn = Churn()
print(json.dumps([list(digests(target_of(name, size), 2, churn)) for name in PROGRAMS for size in (6, 17)]))
"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_equal_runs_have_equal_traces(name: str, size: int) -> None:
    assert len(digests(target_of(name, size), 8, Churn())) == 1


@pytest.mark.slow
def test_traces_do_not_depend_on_the_process() -> None:
    printed = []
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        printed.append(json.loads(done.stdout))
    assert printed[0] == printed[1]
    assert all(len(digests) == 1 for digests in printed[0])


def notes_of(name: str, size: int) -> list[dict[str, Plain]]:
    """Return what a program writes down."""
    system = target_of(name, size)
    (task,), (config,) = system.tasks.values(), system.configs.values()
    trace = execute(Experiment(system, task, config, 0), EMPTY).trace
    return [step.arguments for step in trace.steps]


def test_a_task_group_cancels_its_children_in_the_order_of_making() -> None:
    for size in (2, 9, 40):
        cancelled = [note["name"] for note in notes_of("group_fails", size)[:size]]
        assert cancelled == list(range(size))


def test_coroutines_complete_in_the_order_in_which_they_were_given() -> None:
    for size in (3, 9, 40):
        completed = [note["result"] for note in notes_of("completed_list", size)]
        assert completed == sorted(range(size), key=lambda number: number % 3)


def experiment_of(system: Target) -> Experiment:
    (task,), (config,) = system.tasks.values(), system.configs.values()
    return Experiment(system, task, config, 0)


async def note_a_set(run: Run, size: int) -> None:
    """Write down in which order a set of tasks that the target made itself is iterated."""
    tasks = {asyncio.create_task(asyncio.sleep(0.0), name=f"number {number}") for number in range(size)}
    run.note("tasks", names=[task.get_name() for task in tasks])
    await asyncio.gather(*tasks)


def with_busy_world(calls: int) -> Target:
    """Return a target whose world makes tasks, and which iterates sets of its own tasks between its calls."""

    @target(name=f"busy-{calls}", tasks=[Task("t")])
    async def system(task: Task, run: Run) -> Outcome:
        del task

        async def look(count: int) -> list[int]:
            made = {asyncio.create_task(asyncio.sleep(0.1, number)) for number in range(count)}
            done, _ = await asyncio.wait(made)
            return [one.result() for one in done]

        crm = run.service("crm", {"look": look}, read_only=True)
        for count in range(1, calls + 1):
            try:
                await crm("look", count=count)
            except TimeoutError:
                run.note("late", count=count)
            await note_a_set(run, 6)
        return Outcome("done", success=True)

    return system


@pytest.mark.parametrize("fault", ["", "service:crm[2] service.timeout(when=before,seconds=5)"])
def test_a_trace_is_served_alike_though_nobody_makes_the_tasks_of_the_world(fault: str) -> None:
    experiment = experiment_of(with_busy_world(4)).with_nominal()
    execution = execute(experiment, parse(fault))
    served = serve(experiment, execution.trace, parse(fault))

    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest


def test_the_order_of_a_set_does_not_say_whether_the_world_was_asked() -> None:
    experiment = experiment_of(with_busy_world(4))

    def orders(fault: str) -> list[object]:
        steps = execute(experiment, parse(fault)).trace.steps
        return [step.arguments["names"] for step in steps if step.operation == "tasks"]

    before = orders("service:crm[2] service.timeout(when=before,seconds=5)")
    after = orders("service:crm[2] service.timeout(when=after,seconds=5)")
    assert before == after == orders("")


def resting(extra: int) -> Target:
    """Return a target that makes some more tasks when its call fails, and then is as it would be without a failure."""

    @target(name=f"resting-{extra}", tasks=[Task("t")])
    async def system(task: Task, run: Run) -> Outcome:
        del task
        crm = run.service("crm", {"look": lambda: 1}, read_only=True)
        try:
            await crm("look")
        except ConnectionError:
            for _ in range(extra):
                await asyncio.create_task(asyncio.sleep(0.0))
        run.checkpoint("rest", None, clock_matters=False, artifacts_matter=False)
        await note_a_set(run, 6)
        return Outcome("done", success=True)

    return system


@pytest.mark.parametrize("extra", [1, 3, 5, 8])
def test_a_run_continues_from_a_checkpoint_as_one_that_has_made_fewer_tasks(extra: int) -> None:
    def run(fault: str) -> Execution:
        return execute(experiment_of(resting(extra)), parse(fault), fingerprinting=Fingerprinting.STATE)

    plain, failed = run(""), run("service:crm[1] service.lost_response")
    assert failed.evaluation.effective != EMPTY
    assert plain.evaluation.fingerprints[-1].common == failed.evaluation.fingerprints[-1].common
    assert plain.trace.steps[-1].arguments == failed.trace.steps[-1].arguments
