"""Built-in operators in real runs: they land, cost nothing where they do not, and give the same trace everywhere."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from chaosagent.canonical import Plain
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.dry import Deviation, DryKind, RecordedCrossing, apply_dry
from chaosagent.faults.injection import Hook, Place, inject
from chaosagent.faults.operator import OPERATORS, Operator, lattice
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.targets.target import Run, target
from chaosagent.trace.step import StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Boundary, Landing, Outcome, StatusError, SystemConfig, Task

ORDERS: list[dict[str, Plain]] = [
    {"order_id": "A-1", "amount": 59.9, "status": "paid", "updated_at": "2026-03-01T09:30:00Z", "version": 1},
    {"order_id": "A-1", "amount": 59.9, "status": "shipped", "updated_at": "2026-03-02T09:30:00Z", "version": 2},
]
PAGE: Plain = {"items": [{"id": "R-1", "amount": 5}], "next_cursor": "p-3", "total": 250}
NAMES = [name for name in OPERATORS if Boundary.NETWORK not in OPERATORS.get(name).boundaries]
"""Those at real connections are let land in `tests/operators/network/`."""
TOOLS: list[dict[str, Plain]] = [
    {"name": name, "description": f"Use it to {name} an order.", "annotations": {"readOnlyHint": name == "read"}}
    for name in ("read", "refund", "cancel", "send")
]


MAIL = """If order A-1 is late, ask the customer first. Never refund more than 59.90 EUR before 2026-03-05.
Please check order A-2, due tomorrow, and ask for 5 EUR:
- the invoice must be paid
- the amount is right"""
HANDED_OVER: Plain = {"from": "planner", "text": "Check A-1.", "amount": 60, "days": 3}


def _passages(version: int) -> list[dict[str, Plain]]:
    texts = [f"Rule {number} is valid, version {version}." for number in range(4)]
    return [{"id": f"kb-{number}", "text": text, "score": 3.0 - number} for number, text in enumerate(texts)]


@target(name="all-doors", tasks=[Task("all")])
async def all_doors(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # the protocol's
    """Go through every door, and shrug at what fails."""
    answers = iter(ORDERS)
    orders = run.service("orders", lambda operation, **arguments: next(answers, ORDERS[-1]))  # noqa: ARG005
    pages = run.service("pages", lambda operation, **arguments: PAGE)  # noqa: ARG005
    notes = run.memory("notes")
    versions = iter((1, 2))
    knowledge = run.retrieval("kb", lambda operation, **arguments: _passages(next(versions)))  # noqa: ARG005
    calls = iter({"name": name, "arguments": {"order_id": "A-1", "amount": 59.9}} for name in ("read", "refund"))
    policy = run.model("policy", lambda operation, **arguments: {"content": "", "tool_calls": [next(calls)]})  # noqa: ARG005
    await run.tools("toolbox", TOOLS)("list")
    await run.prompt("inbox")("read", text=MAIL)
    for _ in range(2):
        await knowledge("search", query="refund")
    for order_id in ("A-1", "A-1"):
        try:
            await orders("get_order", order_id=order_id)
        except (TimeoutError, ConnectionError, StatusError):
            continue
    with contextlib.suppress(TimeoutError, ConnectionError, StatusError):
        await pages("list_refunds", cursor="p-2")
    for prompt in ("What now?", "And now?"):
        with contextlib.suppress(TimeoutError):
            await policy("complete", prompt=prompt, tools=["read", "refund", "cancel", "send"])
    await notes("write", key="log", value=["asked", "answered", "closed"])
    await notes("append", key="log", value="read")
    await notes("write", key="order", value="old")
    await notes("write", key="order", value="new")
    await notes("read", key="order")
    await notes("read", key="log")
    for to in ("writer", "verifier"):
        await run.message("team")("send", to=to, body=HANDED_OVER)
    return Outcome("done", success=True)


def _executed(delta: Schedule) -> Execution:
    return execute(Experiment(all_doors, all_doors.task("all"), SystemConfig(), seed=1), delta)


@functools.cache
def _places() -> list[Place]:
    return [crossing.place for crossing in _executed(EMPTY).evaluation.crossings]


def _schedule(operator: Operator) -> Schedule:
    """Return the schedule with the operator at the last hook at which it lands."""
    boundaries = {boundary.value for boundary in operator.boundaries}
    for place in reversed([place for place in _places() if place.interface.partition(":")[0] in boundaries]):
        delta = schedule([inject(Hook(place.interface, "", place.occurrence, place.occurrence), operator)])
        if any(step.landed and step.landed.landing is Landing.LANDED for step in _executed(delta).trace.steps):
            return delta
    raise AssertionError(f"{operator!r} lands nowhere. Add a call on which it acts to `all_doors` in {__file__}.")


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_lands_in_a_run(name: str) -> None:
    nominal = _executed(EMPTY).trace

    for operator in lattice(OPERATORS.get(name)):
        delta = _schedule(operator)
        execution = _executed(delta)
        landed = [step.landed for step in execution.trace.steps if step.landed is not None]

        assert [each.landing for each in landed] == [Landing.LANDED], operator
        assert landed[0].description == operator.describe()
        assert execution.trace.digest != nominal.digest
        assert execution.trace.digest == _executed(delta).trace.digest


@pytest.mark.parametrize("name", NAMES)
def test_what_an_operator_does_not_act_on_stays_as_it_was(name: str) -> None:
    nominal = _executed(EMPTY)

    for operator in lattice(OPERATORS.get(name)):
        delta = _schedule(operator)
        (hook,) = (injection.hook for injection in delta)
        trace, alone = _executed(delta).trace, _answers_alone(operator, hook, nominal.evaluation.crossings)

        assert _untouched(trace, hook, alone=alone) == _untouched(nominal.trace, hook, alone=alone), operator


def _answers_alone(operator: Operator, hook: Hook, crossings: Sequence[RecordedCrossing]) -> bool:
    """Whether an operator asks the world once, unchanged, and changes nothing but the answer."""
    here = next(crossing for crossing in crossings if hook.matches(crossing.place))
    outcome = apply_dry(operator, here, [one for one in crossings if one.place.interface == hook.interface], 0)
    return outcome.kind is DryKind.KNOWN and outcome.deviation is Deviation.ANSWER


def _untouched(trace: Trace, hook: Hook, *, alone: bool) -> list[tuple[str, bytes, bytes]]:
    """Return what crossed at all places that an injection must leave alone.

    One that acts on the answer leaves the request at its own place alone, and all other places; others may change what
    the world says there later.
    """
    found = []
    for step in trace.steps:
        is_here = hook.matches(Place(step.interface, step.agent, step.occurrence, step.attempt))
        is_later = step.interface == hook.interface and step.occurrence > hook.first
        if step.kind is StepKind.CALL and not (is_later and not alone):
            found.append((step.hook, step.request, b"" if is_here else step.response))
    return found


DIGESTS = """
import importlib.util, sys
found = importlib.util.spec_from_file_location("in_a_run", sys.argv[1])
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
for name in module.NAMES:
    for operator in module.lattice(module.OPERATORS.get(name)):
        print(module._executed(module._schedule(operator)).trace.digest)
"""


@pytest.mark.slow
def test_a_run_is_the_same_whatever_the_hash_seed() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS, __file__],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]

    assert printed[0] == printed[1]
    assert len(set(printed[0].split())) > len(NAMES)
