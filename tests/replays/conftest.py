"""The planted double refund as a record."""

from __future__ import annotations

import functools

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.loading import load_target

collect_ignore_glob = ["*.replay"]
"""Records of old versions, read by the tests; they are no tests themselves."""


@functools.cache
def _record() -> ReplayRecord:
    found = load_target("refund")
    plan = Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(-(2**80),),
        contracts=default_contracts(),
        contract_specs=tuple(contract.id for contract in default_contracts()),
        space=Space(
            [
                Choices("service.field_corruption", {"kind": ("null",)}, interfaces=("service:tokens",)),
                Choices("service.lost_response", {}),
            ]
        ),
        budget=2.2,
    )
    result = Study(plan, InlineExecutor(Workbench(plan.target, plan.config, plan.contracts))).run()
    return record_of(next(found for found in result.counterexamples if found.contract == "at-most-once"), plan)


@pytest.fixture
def refund_record() -> ReplayRecord:
    """A counterexample of two injections."""
    return _record()
