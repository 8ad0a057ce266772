"""Certificates: what is proved, and what kept a proof from reaching further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.study.certificate import LEVELS, RULES, Certificate
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


@target(name="shrugs", tasks=[Task("buy")])
async def shrugs(task: Task, run: Run) -> Outcome:
    """Knows whether it has bought something unless an answer is lost."""
    del task
    shop = run.service("shop", {"buy": lambda: "bought"})
    try:
        await shop("buy")
    except ConnectionError:
        return Outcome("I do not know.")
    return Outcome("bought", success=True)


def test_a_trial_that_told_nothing_is_named_with_the_reason() -> None:
    contracts = (parse_contract("objective"),)
    space = Space([Choices("service.lost_response", {}, ("service:shop",))])
    tasks, config = tuple(shrugs.tasks.values()), shrugs.config("default")
    plan = Plan(shrugs, "none:shrugs", config, tasks, (0,), contracts, space, ("objective",), budget=1.2)

    (search,) = Study(plan, InlineExecutor(Workbench(shrugs, config, contracts))).run().searches

    assert not search.certificate.safe
    assert (
        "2 trials told nothing of the contract (such as under service:shop[1] service.lost_response(when=before): "
        "nobody says whether its outcome is a success)"
    ) in str(search.certificate)


@pytest.mark.parametrize(
    ("unknown", "told"),
    [
        (1, ". 1 trial told nothing of the contract (without injections)"),
        (3, ". 3 trials told nothing of the contract (such as without injections)"),
    ],
)
def test_the_first_of_several_such_trials_is_named(unknown: int, told: str) -> None:
    certificate = Certificate("C0", None, 0.0, 1.2, executed=4)

    assert told in str(replace(certificate, unknown=unknown, unknown_reason="without injections"))
    assert "told nothing" not in str(certificate)


def test_all_minimal_ones_are_claimed_only_where_nothing_cheaper_was_seen_and_not_confirmed() -> None:
    known = Certificate(
        "S", 1.0, float("inf"), 1.2, executed=4, frozen=True, answers=2, known_below=float("inf"), worlds_searched=2
    )

    assert str(known).startswith("S: all minimal counterexamples of cost up to 1.2 are known, 2 in all. ")
    assert str(replace(known, doubted=True)).startswith("S: all confirmed counterexamples of cost up to 1.2 are known")


AUDITED = Certificate(
    "C3",
    None,
    float("inf"),
    2.0,
    executed=40,
    pruned={"R2": 30, "R3": 0, "monotone": 12},
    audited=24,
    audited_of={"R2": 16, "monotone": 8},
)


def test_it_says_how_wrong_a_rule_may_be_and_still_be_missed_by_the_audit() -> None:
    assert str(AUDITED) == (
        "C3: no violating schedule of cost up to 2. 40 executed, 30 pruned by R2, 12 pruned by monotone. "
        "24 of the pruned audited, no contradiction (which finds R2 wrong in 18 % of what it "
        "pruned or monotone wrong in 32 % with probability 0.95)."
    )


def test_a_contradiction_is_said_loudly_and_nothing_of_what_the_audit_would_have_found() -> None:
    text = str(replace(AUDITED, contradictions=1))

    assert "1 contradiction: what it rested on was switched off and the search repeated without it" in text
    rules = str(replace(AUDITED, contradictions=2, contradicted=("R2", "R3")))
    assert "2 contradictions: rule R2 and rule R3 were switched off and the search repeated without them" in rules
    assert "with probability" not in text


def test_where_all_that_a_rule_pruned_was_audited_no_share_is_left_to_be_missed() -> None:
    one = str(replace(AUDITED, pruned={"R2": 16}, audited_of={"R2": 16}))
    two = str(replace(AUDITED, pruned={"R2": 16, "monotone": 12}))

    assert one.endswith("no contradiction (all that R2 pruned).")
    assert "(all that R2 pruned; which finds monotone wrong in 32 % of what it pruned with probability 0.95)" in two


def test_a_rule_of_which_nothing_was_audited_is_not_said_to_be() -> None:
    assert "R2" not in str(replace(AUDITED, pruned={}, audited_of={}))
    assert "wrong in" not in str(replace(AUDITED, audited_of={"R2": 0, "monotone": 0}))


@pytest.mark.parametrize(
    ("pruned", "audited", "audited_of", "told"),
    [
        ({"R2": 5}, 7, {"R2": 5}, "5 of the pruned audited and 2 below pruned ones, no"),
        ({"R2": 5}, 7, {"R2": 7}, "5 of the pruned audited and 2 pruned by earlier passes of the search, no"),
        (
            {"R1": 5},
            9,
            {"R1": 2, "R3": 3},
            "2 of the pruned audited, 3 pruned by earlier passes of the search and 4 below pruned ones, no",
        ),
        ({"own": 9}, 7, {}, "7 of the pruned audited, no"),
    ],
)
def test_no_more_of_the_pruned_is_said_to_be_audited_than_was_pruned(
    pruned: dict[str, int], audited: int, audited_of: dict[str, int], told: str
) -> None:
    assert f". {told} contradiction" in str(replace(AUDITED, pruned=pruned, audited=audited, audited_of=audited_of))


def test_every_level_and_every_rule_is_explained() -> None:
    assert set(LEVELS) == {"C0", "C1", "C2", "C3", "C4", "S"}
    assert set(RULES) == {"R1", "R2", "R3", "monotone", "lineage"}
    assert len({*LEVELS.values(), *RULES.values()}) == len(LEVELS) + len(RULES)


def test_undeclared_variables_are_named_and_many_are_counted() -> None:
    names = tuple(f"v{number} in agent (checkpoint 'read')" for number in range(5))

    one = str(Certificate("C2", None, 2.0, 3.0, 40, undeclared=names[:1]))
    many = str(Certificate("C2", None, 2.0, 3.0, 40, undeclared=names))

    assert "The audit began where checkpoints leave out v0 in agent (checkpoint 'read')" in one
    assert "v2 in agent (checkpoint 'read') and 2 other variables" in many


def test_the_page_on_proofs_explains_every_level_and_rule() -> None:
    page = (Path(__file__).parents[2] / "docs" / "proofs.md").read_text("utf-8")

    assert [level for level in LEVELS if f"| {level} |" not in page] == []
    assert [rule for rule in RULES if rule not in page and rule != "lineage"] == []
