"""The same run gives the same trace, in every process, whatever the hash seed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.execution.execute import Execution
from chaosagent.trace.diff import first_difference

Play = Callable[..., Execution]

PROGRAM = '''
import asyncio, json, sys
from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.effects.rule import effect
from chaosagent.targets.target import target
from chaosagent.vocabulary import Labels, Outcome, Task

TASKS = [Task("a", {"names", "of", "a", "set"}, labels=Labels(canaries=("canary",)))]

@target(name="busy", tasks=TASKS, secrets=["key-[0-9]+"])
async def busy(task, run):
    """Uses sets, dictionaries, threads, tasks and time-outs."""
    state = {}

    def get(order):
        return {"tags": {"x", "y", "z", order}, "id": order, "object": repr(object)}

    async def slow(order):
        await asyncio.sleep(order / 10)
        return frozenset({("a", order), ("b", order)})

    crm = run.service("crm", {"get": get, "slow": slow}, read_only=True)
    pay = run.service("pay", {"pay": lambda **kw: sorted(kw)}, effects={"pay": effect("amount", "order")})
    notes, model = run.memory("notes"), run.model("llm", lambda _, prompt: {"content": prompt[::-1], "tool_calls": []})

    async def work(name):
        with run.agent(name):
            try:
                async with asyncio.timeout(20):
                    found = await asyncio.gather(crm("get", order=name), crm("slow", order=len(name)))
            except TimeoutError:
                found = ["gave up", object.__name__]
            state[name] = found
            await notes("append", key="log", value={"name": name, "key": "key-123", "draw": run.rng(name).random()})
            return await asyncio.to_thread(lambda: {letter for letter in name})

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(name)) for name in ("planner", "verifier", "action")]
    with run.agent("action"):
        try:
            await pay("pay", order=1, amount=2)
        except Exception as error:
            run.note("failed", error=str(error), letters=[task.result() for task in tasks])
        log = await notes("read", key="log")
    await model("complete", prompt="key-123")
    return Outcome("done", state={"seen": state, "log": log})

SCHEDULES = ["", "service:crm[1]@planner service.delay(seconds=60)",
    "service:crm[2]@action service.field_corruption; service:pay[1]@action service.timeout(when=after)"]
experiment = Experiment(busy, TASKS[0], busy.config("default"), 7, default_contracts()).with_nominal()
print(json.dumps([execute(experiment, parse(schedule)).trace.digest for schedule in SCHEDULES]))
'''


@pytest.mark.slow
def test_three_processes_with_different_hash_seeds_give_the_same_digests() -> None:
    found = []
    for hash_seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))

    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 3


async def draws(run: Any) -> None:
    """Ask for what the seed says."""
    crm = run.service("crm", {"get": lambda number: number})
    await crm("get", number=1)
    await crm("get", number=run.rng("number").randrange(10**9))
    await crm("get", number=2)


def test_the_same_seed_and_schedule_give_the_same_digest_again_and_again(play: Play) -> None:
    digests = {play(draws, "service:crm[2] test/draw", seed=3).trace.digest for _ in range(5)}

    assert len(digests) == 1


def test_another_seed_and_another_schedule_give_another_digest(play: Play) -> None:
    found = [play(draws, seed=1), play(draws, seed=2), play(draws, "service:crm[1] test/say", seed=1)]

    assert len({execution.trace.digest for execution in found}) == 3


def test_streams_do_not_depend_on_the_order_in_which_they_are_made(play: Play) -> None:
    def target(labels: str) -> Any:
        async def agent(run: Any) -> str:
            return str({label: run.rng(label).random() for label in labels}["b"])

        return agent

    assert play(target("ab")).trace.outcome == play(target("ba")).trace.outcome


def test_one_label_is_one_stream(play: Play) -> None:
    async def agent(run: Any) -> str:
        return str(run.rng("a").random() != run.rng("a").random())

    assert play(agent).trace.outcome.message == "True"


@pytest.mark.parametrize(
    ("schedule", "field", "step"),
    [
        ("service:crm[2] test/say", "answer", 1),
        ("service:crm[2] test/fail(when=after)", "failure", 1),
        ("service:crm[2] test/hold", "arrived_at", 1),
        ("service:crm[1] test/same", "landed", 0),
    ],
)
def test_the_first_difference_names_the_step_and_the_field(play: Play, schedule: str, field: str, step: int) -> None:
    async def agent(run: Any) -> str:
        crm = run.service("crm", {"get": lambda number: number})
        for number in range(3):
            try:
                await crm("get", number=number)
            except TimeoutError:
                continue
        return "done"

    found = first_difference(play(agent).trace, play(agent, schedule).trace)

    assert found is not None
    assert (found.step, found.field) == (step, field)


def test_equal_runs_have_no_first_difference(play: Play) -> None:
    assert first_difference(play(draws).trace, play(draws).trace) is None


def test_a_run_that_goes_on_longer_differs_behind_the_last_common_step(play: Play) -> None:
    def target(count: int) -> Any:
        async def agent(run: Any) -> None:
            crm = run.service("crm", {"get": lambda: 1})
            for _ in range(count):
                await crm("get")

        return agent

    found = first_difference(play(target(2)).trace, play(target(3)).trace)

    assert found is not None
    assert (found.step, found.field, found.expected) == (2, "steps", "the end")
    assert str(found) == "step 2, steps: expected the end, got <step 2: service:crm[3] get answered>"


def test_runs_that_only_end_differently_differ_at_their_end(play: Play) -> None:
    def target(message: str) -> Any:
        async def agent(_: Any) -> str:
            return message

        return agent

    found = first_difference(play(target("a")).trace, play(target("b")).trace)

    assert found is not None
    assert (found.step, found.field) == (0, "outcome")
