"""A stored trace is judged as the run was that made it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.contract import Contract, Nominal, needs_nominal
from chaosagent.contracts.templates.containment import Containment
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.contracts.templates.no_ghosts import NoGhosts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.judging import judge
from chaosagent.faults.schedule import parse
from chaosagent.targets.loading import load_target
from chaosagent.vocabulary import Task, Verdict

CONTRACTS: tuple[Contract, ...] = (
    *default_contracts(),
    parse_contract({"contract": "at-most-once", "id": "fair-once", "requires": "no-crash"}),
    parse_contract("progress"),
    parse_contract("containment"),
)
DOUBLE = (
    "service:payments[1]@support service.timeout(when=after); "
    'service:tokens[1]@support service.field_corruption(field="*", kind=null)'
)
SCHEDULES = (
    "",
    "service:payments[1]@support service.error_status(when=after)",
    "service:orders[1]@support service.error_status",
    DOUBLE,
)


def _experiment() -> Experiment:
    system = load_target("refund")
    task, config = next(iter(system.tasks.values())), next(iter(system.configs.values()))
    return Experiment(system, task, config, 0, CONTRACTS).with_nominal()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_stored_trace_has_the_verdicts_of_the_run(schedule: str) -> None:
    experiment = _experiment()
    trace = execute(experiment, parse(schedule)).trace

    verdicts = judge(trace, CONTRACTS, experiment.task, experiment.nominal)

    assert trace.verdicts
    assert verdicts == trace.verdicts
    assert all(not step.raw for step in trace.steps)


def test_the_schedules_of_these_tests_break_something() -> None:
    experiment = _experiment()

    broken = {
        verdict.contract
        for schedule in SCHEDULES
        for verdict in execute(experiment, parse(schedule)).trace.verdicts
        if verdict.verdict is Verdict.VIOLATED
    }

    assert {"at-most-once", "fair-once", "no-ghosts", "no-crash", "containment"} <= broken


def test_a_run_without_its_end_can_be_violated_and_cannot_hold() -> None:
    experiment = _experiment()
    trace = execute(experiment, parse(DOUBLE)).trace

    verdicts = {one.contract: one for one in judge(trace, CONTRACTS, experiment.task, Nominal(), ended=False)}

    assert verdicts["at-most-once"].verdict is Verdict.VIOLATED
    assert verdicts["at-most-once"].violation == trace.verdict("at-most-once").violation
    assert verdicts["no-crash"].verdict is Verdict.UNKNOWN
    assert {one.verdict for one in judge(replace(trace, steps=()), CONTRACTS, Task("t"), None, ended=False)} == {
        Verdict.UNKNOWN
    }


def test_contracts_say_whether_they_compare_with_the_run_without_injections() -> None:
    needing = {contract.id for contract in default_contracts() if needs_nominal(contract)}

    assert needing == {"no-extra-effects", "all-or-nothing", "no-ghosts"}
    assert needs_nominal(NoCrash(requires=NoGhosts()))
    assert needs_nominal(Containment())
    assert not needs_nominal(Containment(final=(NoCrash(),)))
