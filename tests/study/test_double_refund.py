"""The planted double refund is found, minimised and certified with nothing but the target and the default contracts."""

from __future__ import annotations

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.operator import searched_by_default
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.targets.loading import load_target

DUPLICATE, DROPPED = ("service.duplicate_delivery",), ("service.dropped_response",)
LOSSES = (*DROPPED, "service.lost_response", "service.timeout", "service.error_status")
"""What loses the answer after the commit, at the same cost."""
EXECUTIONS_MAX = 500
"""To the certificate; the audit is not counted."""


def search(config: str, *without: str) -> SearchResult:
    """Return what came of the search for a payment made twice, with all operators that there are but some."""
    refund = load_target("refund")
    plan = Plan(
        target=refund,
        target_reference="refund",
        config=refund.config(config),
        tasks=tuple(refund.tasks.values()),
        seeds=(0,),
        contracts=default_contracts(),
        space=Space(Choices(name, {}) for name in searched_by_default() if name not in without),
        budget=2.2,
    )
    result = Study(plan, InlineExecutor(Workbench(plan.target, plan.config, plan.contracts))).run()
    assert result.errors == 0
    return next(search for search in result.searches if search.contract == "at-most-once")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "cost", "payments"),
    [
        ((), 2.075, DUPLICATE),
        (DUPLICATE, 2.125, LOSSES),
        ((*DUPLICATE, *DROPPED), 2.125, LOSSES),
    ],
)
def test_the_double_refund_is_found_minimised_and_certified(
    without: tuple[str, ...], cost: float, payments: tuple[str, ...]
) -> None:
    found = search("naive", *without)

    counterexample = found.counterexample
    assert counterexample is not None
    degraded, lost = sorted(counterexample.schedule, key=lambda injection: injection.hook.interface, reverse=True)
    assert str(degraded).startswith("service:tokens[1]@support service.field_corruption")
    assert str(lost.hook) == "service:payments[1]@support"
    assert lost.operator_name in payments
    assert lost.operator_name not in without
    assert counterexample.cost == cost
    assert counterexample.minimal
    assert counterexample.confirmed
    assert found.certificate.certified
    assert found.certificate.contradictions == 0
    assert found.trials < EXECUTIONS_MAX


@pytest.mark.slow
def test_the_hardened_agent_never_refunds_twice() -> None:
    found = search("hardened", *DUPLICATE)

    assert found.counterexample is None
    assert found.certificate.safe
