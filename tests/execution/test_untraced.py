"""A target in earnest: the same program outside a study, with nothing recorded, checked or injected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chaosagent.effects.rule import effect
from chaosagent.execution.untraced import UntracedRun
from chaosagent.governance.action import Action
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import PolicyMediator, Ruling
from chaosagent.targets.loading import load_target
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import ActionBlocked, Mediation, Outcome, SystemConfig, Task

TASK = Task("only")


@pytest.mark.parametrize("name", ["refund", "triage"])
def test_a_built_in_target_does_outside_a_study_what_it_does_inside(name: str) -> None:
    built_in = load_target(name)
    task = next(iter(built_in.tasks.values()))
    config = next(iter(built_in.configs.values()))

    outcome = asyncio.run(built_in.run(task, UntracedRun(task, config)))

    objective = built_in.objective
    assert outcome.success if outcome.success is not None else objective is not None and objective(task, outcome)


def test_every_kind_of_door_hands_on_what_it_is_given() -> None:
    given = {"nested": [1]}

    async def agent(run: Run) -> list[Any]:
        async def later(text: str) -> str:
            await asyncio.sleep(0)
            return text.upper()

        crm = run.service("crm", {"get": lambda order: order}, effects={"get": effect("order")}, egress=True)
        model = run.model("main", {"complete": later})
        memory, inbox, board = run.memory("notes"), run.prompt("inbox"), run.message("board")
        docs = run.retrieval("docs", lambda operation, **found: [operation, found])
        await memory("write", key="a", value=1)
        await board("send", to="planner", body="hello")
        with run.agent("planner"):
            run.note("seen", what="all")
            run.link("a", "supports", "b")
            run.checkpoint("here", None)
            return [
                await crm("get", order=given) is given,
                await model("complete", text="yes"),
                await memory("read", key="a"),
                await inbox("read", text="dear"),
                await docs("search", query="x"),
                await run.receive("board", "planner"),
                await crm.ask("get", order=2).attempt(),
                run.artifact(),
            ]

    expected = [True, "YES", 1, "dear", ["search", {"query": "x"}], "hello", 2, ""]
    assert asyncio.run(agent(UntracedRun(TASK))) == expected


def test_a_door_that_is_opened_twice_has_one_world() -> None:
    run = UntracedRun(TASK)

    assert run.memory("notes") is run.memory("notes")
    assert run.message("board") is run.message("board")


def test_a_synchronous_target_calls_without_await() -> None:
    async def later(number: int) -> int:
        await asyncio.sleep(0)
        return number

    run = UntracedRun(TASK, synchronous=True)
    crm = run.service("crm", {"at once": lambda number: number, "later": later})

    assert crm("at once", number=1) == 1
    assert crm("later", number=2) == 2
    assert run.clock.sleep(0.0) is False


def test_what_the_world_raises_reaches_the_target_as_it_is() -> None:
    error = ZeroDivisionError("in the world")

    def fails() -> None:
        raise error

    door = UntracedRun(TASK, synchronous=True).service("crm", {"get": fails})

    with pytest.raises(ZeroDivisionError, match="in the world") as caught:
        door("get")
    assert caught.value is error
    with pytest.raises(LookupError, match="service:crm has no operation 'put'"):
        door("put")


def test_the_mediator_still_allows_rewrites_and_blocks() -> None:
    def halve(action: Action) -> Ruling | None:
        amount = action.arguments.get("amount")
        return Ruling(Mediation.REWRITE, "too much", {"amount": 5}) if amount == 10 else None

    async def agent(run: Run) -> list[Any]:
        run.mediate(PolicyMediator({"cashier": CapabilitySet((Capability("service:bank", "pay"),))}, (halve,)))
        bank = run.service("bank", {"pay": lambda amount: amount, "close": lambda: "closed"})
        with run.agent("cashier"):
            paid = [await bank("pay", amount=amount) for amount in (1, 10)]
            with pytest.raises(ActionBlocked, match="cashier may not close at service:bank"):
                await bank("close")
        return paid

    assert asyncio.run(agent(UntracedRun(TASK))) == [1, 5]


def test_time_is_real_and_chance_that_of_the_seed() -> None:
    async def agent(run: Run) -> tuple[bool, float]:
        begun = run.clock.now()
        await run.clock.sleep(0.01)
        return run.clock.now() - begun >= 0.009, run.rng("draw").random()

    first, again, other = (asyncio.run(agent(UntracedRun(TASK, SystemConfig(), seed))) for seed in (1, 1, 2))

    assert first[0]
    assert first[1] == again[1] != other[1]


def test_a_decorated_target_is_called_through_its_function() -> None:
    @target(tasks=[TASK])
    def plain(task: Task, run: Run) -> Outcome:
        return Outcome(f"{task.id} {run.config.name}", success=True)

    assert plain.run(TASK, UntracedRun(TASK, synchronous=True)) == Outcome("only default", success=True)


def test_an_operation_that_is_called_as_a_method_is_told_how_to_call() -> None:
    door = UntracedRun(TASK).service("crm", {"get": lambda: 1})

    with pytest.raises(
        AttributeError, match=r"service:crm has no attribute 'get'; .* called as door\('get', name=...\)"
    ):
        door.get()  # type: ignore[attr-defined]  # the mistake


def test_an_option_that_is_misspelt_is_refused_outside_studies_too() -> None:
    with pytest.raises(TypeError, match=r"no option 'effcts'\. Did you mean 'effects'"):
        UntracedRun(Task("default")).service("shop", {}, effcts={})  # type: ignore[call-arg]  # the mistake
