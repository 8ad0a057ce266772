"""Certificates: what is proved, and what kept a proof from reaching further."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.inline import InlineExecutor
from chaosagent.execution.workbench import Workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.study.certificate import Certificate
from chaosagent.study.plan import Plan
from chaosagent.study.study import Study
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
        "2 trials told nothing of the contract (the first under service:shop[1] service.lost_response(when=before): "
        "nobody says whether its outcome is a success)"
    ) in str(search.certificate)


@pytest.mark.parametrize(
    ("unknown", "told"),
    [
        (1, ", 1 trial told nothing of the contract (without injections)"),
        (3, ", 3 trials told nothing of the contract (the first without injections)"),
    ],
)
def test_the_first_of_several_such_trials_is_named(unknown: int, told: str) -> None:
    certificate = Certificate("C0", None, 0.0, 1.2, executed=4)

    assert told in str(replace(certificate, unknown=unknown, unknown_under="without injections"))
    assert "told nothing" not in str(certificate)
