"""One door serves thirty tools, and the hardened twin reads before it writes: its records still say something."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.target import Door, Run, Target, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task

READS = tuple(f"get_{name}" for name in ("order", "customer", "refund", "mail", "stock", *map(str, range(19))))
WRITES = ("refund", "mail", "restock", "close", "tag", "log")
FAILURES = (ConnectionError, TimeoutError)


class Shop:
    """The tools."""

    def __init__(self) -> None:
        self._done: Counter[str] = Counter()

    def read(self, operation: str) -> Plain:
        return {"id": 7, "done": self._done[operation.removeprefix("get_")]}

    def write(self, operation: str) -> Plain:
        self._done[operation] += 1
        return {"ok": True}

    def tools(self, operation: str, /, **arguments: Plain) -> Plain:
        del arguments
        return self.read(operation) if operation in READS else self.write(operation)


async def naive(run: Run, tools: Door) -> list[str]:
    """Read, write, and write again when nothing is heard."""
    await tools("get_order", order=7)
    await tools("get_customer", order=7)
    for operation in ("refund", "mail"):
        for _ in range(2):
            try:
                await tools(operation, order=7)
                break
            except FAILURES:
                await run.clock.sleep(1.0)
    return ["refund", "mail"]


async def hardened(run: Run, tools: Door) -> list[str]:
    """Read whether a write was done before each attempt, and read again where a read fails."""

    async def read(operation: str) -> Plain:
        for _ in range(5):
            try:
                found: Plain = await tools(operation, order=7)
                return found
            except FAILURES:
                await run.clock.sleep(1.0)
        return None

    await read("get_order")
    await read("get_customer")
    said = []
    for operation in ("refund", "mail"):
        for _ in range(3):
            known = await read(f"get_{operation}")
            if isinstance(known, dict) and known["done"]:
                said.append(operation)
                break
            try:
                await tools(operation, order=7)
            except FAILURES:
                await run.clock.sleep(1.0)
    return said


@target(name="tools", tasks=[Task("late")], configs=[SystemConfig("naive"), SystemConfig("hardened")])
async def desk(_: Task, run: Run) -> Outcome:
    shop = Shop()
    declared: Mapping[str, object] = {operation: effect("order", kind=operation) for operation in WRITES}
    tools = run.service("tools", shop.tools, effects=declared)  # type: ignore[arg-type]  # effect rules they are
    said = await (naive if run.config.name == "naive" else hardened)(run, tools)
    return Outcome("done", success=True, claims=tuple(Claim(one, {"order": 7}) for one in said))


def plan_of(system: Target) -> Plan:
    contracts = (*default_contracts(), parse_contract("objective"))
    operators = ("service.lost_response", "service.timeout", "service.delay")
    return Plan(
        target=system,
        target_reference="tools",
        config=system.config("naive"),
        tasks=(system.task("late"),),
        seeds=(0,),
        contracts=contracts,
        contract_specs=tuple(contract.id for contract in contracts),
        space=Space([Choices(name, {}) for name in operators]),
        budget=2.3,
        all_minimal=True,
    )


@functools.cache
def records() -> tuple[ReplayRecord, ...]:
    plan = plan_of(desk)
    result = Study(plan, InlineExecutor(Workbench(plan.target, plan.config, plan.contracts))).run()
    return tuple(record_of(found, plan) for found in result.counterexamples)


def test_the_twin_holds_every_record_though_its_calls_have_other_numbers() -> None:
    found = records()

    assert len(READS) + len(WRITES) == 30
    assert len(found) >= 10
    assert {record.contract for record in found} >= {"at-most-once", "no-crash", "objective"}
    for record in found:
        assert rerun_schedule(record, desk).outcome is ReplayOutcome.VIOLATED
        assert rerun_schedule(record, desk, config_name="hardened").outcome is ReplayOutcome.HELD


@pytest.mark.parametrize("which", ["no-crash", "termination"])
def test_a_read_that_is_not_guarded_is_never_moved(which: str) -> None:
    async def unguarded(task: Task, run: Run) -> Outcome:
        del task
        tools = run.service("tools", Shop().tools, effects={one: effect("order", kind=one) for one in WRITES})
        for operation in ("get_order", "get_customer"):
            await tools(operation, order=7)
        for operation in ("refund", "mail"):
            for _ in range(3):
                if (await tools(f"get_{operation}", order=7))["done"]:
                    break
                try:
                    await tools(operation, order=7)
                except FAILURES:
                    await run.clock.sleep(1.0)
        return Outcome("done", success=True, claims=tuple(Claim(one, {"order": 7}) for one in ("refund", "mail")))

    twin = target(name="tools", tasks=[Task("late")], configs=[SystemConfig("naive")])(unguarded)
    outcomes = {rerun_schedule(record, twin).outcome for record in records() if record.contract != which}

    assert outcomes <= {ReplayOutcome.HELD, ReplayOutcome.VIOLATED}
    assert ReplayOutcome.HELD in outcomes
