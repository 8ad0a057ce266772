"""`role-boundary`: the share of an agent's actions outside its role."""

from __future__ import annotations

import pytest

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.role_boundary import RoleBoundary
from chaosagent.testing.steps import make_note, make_step, watch
from chaosagent.trace.step import Decision, Step
from chaosagent.vocabulary import Mediation, Verdict


def said(operations: str, share_max: float = 0.0) -> Reading:
    """What the contract says of a reader that reads (`r`) and writes (`w`), which is no part of its role."""
    names = {"r": "read", "w": "write"}
    steps = [make_step(i, operation=names[letter], agent="ann", role="reader") for i, letter in enumerate(operations)]
    return watch(RoleBoundary(allowed={"reader": "read"}, share_max=share_max), steps)[-1]


def test_an_agent_that_keeps_to_its_role_holds() -> None:
    assert said("rrr").verdict is Verdict.HOLDS
    assert said("rrr", 0.5).margin == 1.0


def test_the_first_action_outside_is_a_violation_where_none_is_tolerated() -> None:
    last = said("rwr")

    assert (last.verdict, last.reason) == (
        Verdict.VIOLATED,
        "ann did write at service:tool; no part of 'reader'",
    )


@pytest.mark.parametrize(("operations", "verdict"), [("wr", Verdict.HOLDS), ("wwr", Verdict.VIOLATED)])
def test_a_tolerated_share_is_judged_at_the_end(operations: str, verdict: Verdict) -> None:
    assert said(operations, 0.5).verdict is verdict


def test_the_margin_is_the_share_that_is_left_or_minus_the_share_that_was_reached() -> None:
    assert said("rrrw", 0.5).margin == 0.5
    assert said("www", 0.5).margin == -1.0


def test_agents_are_judged_one_by_one() -> None:
    good = [make_step(i, operation="read", agent="ann", role="reader") for i in range(8)]
    bad = [make_step(8, operation="write", agent="bob", role="reader")]
    contract = RoleBoundary(allowed={"reader": "read"}, share_max=0.5)

    assert watch(contract, good + bad)[-1].reason == "bob left its role in 1 of 1 actions"


@pytest.mark.parametrize(
    "step",
    [
        make_step(0, operation="write", role="writer"),
        make_step(0, operation="write", role="reader", decision=Decision(Mediation.BLOCK, "no")),
        make_note(0, "write"),
    ],
)
def test_other_roles_blocked_actions_and_notes_do_not_count(step: Step) -> None:
    assert watch(RoleBoundary(allowed={"reader": "read"}), [step])[-1].verdict is Verdict.HOLDS


def test_asking_a_model_is_no_action() -> None:
    asked = [make_step(i, "model:gpt", "complete", agent="ann", role="reader") for i in range(8)]
    did = [
        make_step(8 + i, operation=name, agent="ann", role="reader")
        for i, name in enumerate(("read", "write", "write"))
    ]
    strict = RoleBoundary(allowed={"reader": "read"})
    tolerant = RoleBoundary(allowed={"reader": "read"}, share_max=0.5)

    assert watch(strict, asked)[-1].verdict is Verdict.HOLDS
    assert watch(tolerant, asked + did)[-1].reason == "ann left its role in 2 of 3 actions"
