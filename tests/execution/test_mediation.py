"""The mediator in the pipeline: what it blocks reaches neither world nor injection, what it rewrites does."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution
from chaosagent.governance.action import Action
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import PolicyMediator, Ruling
from chaosagent.vocabulary import ActionBlocked, Boundary, Mediation, Outcome

Play = Callable[..., Execution]


def target(mediator: object, **arguments: Plain) -> Callable[[Any], Any]:
    """Return a target whose agent pays once under a mediator."""

    async def agent(run: Any) -> Outcome:
        reached: list[Plain] = []

        def pay(**given: Plain) -> Plain:
            reached.append(given)
            return "paid"

        door = run.service("pay", {"pay": pay}, effects={"pay": effect("amount")})
        run.mediate(mediator)
        with run.agent("cashier", "clerk"):
            try:
                told = await door("pay", **arguments)
            except ActionBlocked as error:
                told = f"blocked: {error}"
        return Outcome(state=[told, reached])

    return agent


def ruling(mediation: Mediation, arguments: Mapping[str, Plain] | None = None) -> PolicyMediator:
    return PolicyMediator(policies=[lambda _: Ruling(mediation, "because", arguments)])


def test_what_is_allowed_goes_on_unchanged(play: Play) -> None:
    found = play(target(ruling(Mediation.ALLOW), amount=5))

    assert found.trace.outcome.state == ["paid", [{"amount": 5}]]
    assert found.trace.steps[0].decision.mediation is Mediation.ALLOW
    assert found.trace.digest == play(target(None, amount=5)).trace.digest


def test_what_is_blocked_reaches_neither_the_world_nor_an_injection(play: Play) -> None:
    found = play(target(ruling(Mediation.BLOCK), amount=5), "service:pay[1] test/say")

    (step,) = found.trace.steps
    assert found.trace.outcome.state == ["blocked: because", []]
    assert step.decision.mediation is Mediation.BLOCK
    assert step.failure is not None
    assert step.failure.kind == "blocked"
    assert step.arguments == {"amount": 5}
    assert found.trace.effects == ()
    assert found.trace.landed == ()
    assert found.evaluation.crossings == ()


def test_nobody_asks_what_a_cache_would_hold_for_what_is_blocked(play: Play) -> None:
    asked: list[Plain] = []

    def stale(operation: str, arguments: Mapping[str, Plain]) -> Plain:
        asked.append([operation, arguments["order"]])
        return "old"

    async def agent(run: Any) -> None:
        door = run.service("crm", {"get": lambda order: order}, stale=stale)
        await door("get", order=1)
        run.mediate(ruling(Mediation.BLOCK))
        with pytest.raises(ActionBlocked, match="because"):
            await door("get", order=2)

    play(agent)

    assert asked == [["get", 1]]


def test_a_blocked_call_is_counted(play: Play) -> None:
    def once(action: Action) -> Ruling | None:
        return Ruling(Mediation.BLOCK, "no") if action.arguments["number"] == 1 else None

    async def agent(run: Any) -> None:
        door = run.service("crm", {"get": lambda number: number})
        run.mediate(PolicyMediator(policies=[once]))
        with pytest.raises(ActionBlocked, match="no"):
            await door("get", number=1)
        await door("get", number=2)

    assert [step.hook for step in play(agent).trace.steps] == ["service:crm[1]", "service:crm[2]"]


def test_what_is_rewritten_reaches_the_world_so_and_the_step_keeps_both(play: Play) -> None:
    found = play(target(ruling(Mediation.REWRITE, {"amount": 1}), amount=5))

    (step,) = found.trace.steps
    assert found.trace.outcome.state == ["paid", [{"amount": 1}]]
    assert step.arguments == {"amount": 1}
    assert step.decision.reason == "because"
    assert b"amount\x05" in step.decision.proposed
    assert found.trace.effects[0].identity == {"amount": 1}


def test_a_rewrite_without_arguments_leaves_them_as_they_are(play: Play) -> None:
    found = play(target(ruling(Mediation.REWRITE), amount=5))

    assert found.trace.outcome.state == ["paid", [{"amount": 5}]]
    assert found.trace.steps[0].decision.mediation is Mediation.REWRITE


def test_an_injection_acts_on_what_the_mediator_let_pass(play: Play) -> None:
    found = play(target(ruling(Mediation.REWRITE, {"amount": 1}), amount=5), "service:pay[1] test/fail(when=after)")

    assert found.trace.effects[0].identity == {"amount": 1}
    assert found.evaluation.crossings[0].request == found.trace.steps[0].request


def test_the_mediator_sees_who_acts_on_what(play: Play) -> None:
    seen: list[Action] = []

    def look(action: Action) -> None:
        seen.append(action)

    play(target(PolicyMediator(policies=[look]), amount=5))

    assert seen == [Action("cashier", "clerk", Boundary.SERVICE, "service:pay", "pay", {"amount": 5})]


def test_capabilities_hold_in_a_run(play: Play) -> None:
    allowed = CapabilitySet((Capability("service:pay", parameters={"amount": lambda value: value == 5}),))
    mediator = PolicyMediator({"cashier": allowed})

    assert play(target(mediator, amount=5)).trace.outcome.state == ["paid", [{"amount": 5}]]
    assert play(target(mediator, amount=6)).trace.outcome.state == [
        "blocked: cashier may not pay at service:pay",
        [],
    ]


def test_a_rewrite_to_something_that_cannot_cross_breaks_the_protocol(play: Play) -> None:
    with pytest.raises(TargetError, match="is asked with what cannot cross"):
        play(target(ruling(Mediation.REWRITE, {"amount": object()}), amount=5))  # type: ignore[dict-item]


def test_a_mediator_that_raises_ends_the_run_as_an_error(play: Callable[..., Execution]) -> None:
    class Mistaken:
        def decide(self, action: Action) -> Ruling:
            raise KeyError(action.operation)

        def state(self) -> None:
            return None

    async def careless(run: Any) -> None:
        run.mediate(Mistaken())
        with contextlib.suppress(Exception):
            await run.service("s", lambda *_, **__: "done")("get")

    with pytest.raises(TargetError, match="the mediator raised KeyError: get"):
        play(careless)
