"""Capabilities and policies: what is covered is allowed, the first block ends the question, rewrites are handed on."""

import pytest

from chaosagent.canonical import Plain
from chaosagent.governance.action import Action
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import ALLOW, Policy, PolicyMediator, Ruling
from chaosagent.vocabulary import Boundary, Mediation


def action(operation: str = "refund", agent: str = "cashier", **arguments: Plain) -> Action:
    return Action(agent, "clerk", Boundary.SERVICE, "service:payments", operation, arguments)


@pytest.mark.parametrize(
    ("capability", "covers"),
    [
        (Capability("service:payments"), True),
        (Capability("service:*"), True),
        (Capability("service:payments", "re*"), True),
        (Capability("service:payments", "get_*"), False),
        (Capability("service:orders"), False),
        (Capability("SERVICE:PAYMENTS"), False),
        (Capability("service:payments", "refund", {"amount": lambda value: value == 5}), True),
        (Capability("service:payments", "refund", {"amount": lambda value: value == 6}), False),
        (Capability("service:payments", "refund", {"reason": lambda _: True}), False),
        (Capability("service:payments", "refund", {"amount": lambda _: True, "order": lambda _: False}), False),
    ],
)
def test_a_capability_covers_interface_operation_and_named_parameters(capability: Capability, covers: bool) -> None:
    assert capability.covers(action(amount=5, order=7)) is covers


def test_a_set_allows_what_one_of_its_capabilities_covers() -> None:
    allowed = CapabilitySet((Capability("service:orders"), Capability("service:payments", "refund")))

    assert allowed.allows(action())
    assert not allowed.allows(action("charge"))
    assert not CapabilitySet(()).allows(action())


def test_a_set_looks_at_the_arguments_of_every_action_anew() -> None:
    five, six = (Capability("service:*", "refund", {"amount": amount.__eq__}) for amount in (5, 6))
    allowed = CapabilitySet((five, six))

    assert [allowed.allows(action(amount=amount)) for amount in (5, 7, 6, 5)] == [True, False, True, True]


def test_sets_that_were_asked_are_equal_to_those_that_were_not() -> None:
    asked, other = CapabilitySet((Capability("service:*"),)), CapabilitySet((Capability("service:*"),))
    asked.allows(action())

    assert asked == other
    assert repr(asked) == repr(other)


def test_an_agent_without_a_capability_is_blocked_and_told_why() -> None:
    mediator = PolicyMediator({"cashier": CapabilitySet(()), "": CapabilitySet(())})

    assert mediator.decide(action()) == Ruling(Mediation.BLOCK, "cashier may not refund at service:payments")
    assert mediator.decide(action(agent="")).reason == "the agent may not refund at service:payments"


def test_an_agent_that_is_not_named_may_do_anything() -> None:
    assert PolicyMediator({"planner": CapabilitySet(())}).decide(action()) == ALLOW
    assert PolicyMediator().decide(action()) == ALLOW
    assert PolicyMediator({}).decide(action()) == ALLOW


def rewrite(reason: str, **arguments: Plain) -> Policy:
    return lambda seen: Ruling(Mediation.REWRITE, reason, {**seen.arguments, **arguments})


def block(reason: str) -> Policy:
    return lambda _: Ruling(Mediation.BLOCK, reason)


def test_the_first_block_ends_the_question() -> None:
    mediator = PolicyMediator(policies=[lambda _: None, lambda _: ALLOW, block("first"), block("second")])

    assert mediator.decide(action()) == Ruling(Mediation.BLOCK, "first")


def test_a_rewrite_is_handed_on_to_the_next_policy() -> None:
    mediator = PolicyMediator(policies=[rewrite("clamp", amount=1), rewrite("tag", tag="seen")])

    found = mediator.decide(action(amount=5, order=7))

    assert found == Ruling(Mediation.REWRITE, "tag", {"amount": 1, "order": 7, "tag": "seen"})


def test_a_rewrite_that_names_no_arguments_keeps_those_of_the_rewrite_before() -> None:
    mediator = PolicyMediator(policies=[rewrite("clamp", amount=1), lambda _: Ruling(Mediation.REWRITE, "mark")])

    assert mediator.decide(action(amount=5)) == Ruling(Mediation.REWRITE, "mark", {"amount": 1})


def test_a_block_after_a_rewrite_blocks() -> None:
    mediator = PolicyMediator(policies=[rewrite("clamp", amount=1), block("no")])

    assert mediator.decide(action()).mediation is Mediation.BLOCK


def test_capabilities_are_asked_before_policies() -> None:
    asked: list[Action] = []

    def look(seen: Action) -> None:
        asked.append(seen)

    PolicyMediator({"cashier": CapabilitySet(())}, [look]).decide(action())

    assert asked == []


def test_a_mediator_of_policies_keeps_no_state() -> None:
    assert PolicyMediator().state() is None
