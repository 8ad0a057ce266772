"""A pattern is named where the trace shows it, and not where a fault only happens beside what broke."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.report.causes.pattern import (
    BROKEN_ANSWER,
    EARLY_PROMISE,
    FAILURE_NOT_HANDLED,
    NO_COMPENSATION,
    RETRY_WITHOUT_KEY,
    UNBOUNDED_RETRY,
    WAIT_WITHOUT_LIMIT,
    Pattern,
)
from chaosagent.report.causes.recognition import pattern_in
from chaosagent.targets.target import Door, Run, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task, Verdict

LOST = "service:payments[1] service.lost_response(when=after)"
REFUSED = "service:payments[1] service.error_status(retry_after=0.0, status=503, when=before)"
PROMISED = Outcome("Done.", success=True, claims=(Claim("payments.pay", {"order": "A"}),))


class Shop(NamedTuple):
    """The doors of a run."""

    pay: Door
    mail: Door
    orders: Door
    run: Run


async def paid(shop: Shop, order: str) -> bool:
    try:
        await shop.pay("pay", order=order)
    except Exception:  # as an agent does that goes on whatever happens
        return False
    return True


async def asks_again(shop: Shop) -> Outcome:
    if not await paid(shop, "A"):
        await paid(shop, "A")
    return Outcome("Done.", success=True)


async def asks_again_and_the_next_order_is_paid_twice(shop: Shop) -> Outcome:
    """Break the contract by another order, for which nobody asks again."""
    await paid(shop, "B")
    if not await paid(shop, "A"):
        await paid(shop, "B")
        await paid(shop, "A")
    return Outcome("Done.", success=True)


async def does_not_catch(shop: Shop) -> Outcome:
    await shop.pay("pay", order="A")
    return Outcome("Done.", success=True)


async def catches_and_has_another_bug(shop: Shop) -> Outcome:
    if not await paid(shop, "A"):
        raise KeyError("amount")
    return Outcome("Done.", success=True)


async def promises(shop: Shop) -> Outcome:
    await paid(shop, "A")
    return PROMISED


async def promises_what_it_never_tried(shop: Shop) -> Outcome:
    return PROMISED if not await paid(shop, "B") else Outcome("Done.", success=True)


async def stops_in_the_middle(shop: Shop) -> Outcome:
    await shop.mail("send", order="A")
    await paid(shop, "A")
    return Outcome("Done.", success=True)


async def never_gives_up(shop: Shop) -> Outcome:
    while not await paid(shop, "A"):
        await shop.run.clock.sleep(1)
    return Outcome("Done.", success=True)


async def takes_fields_for_granted(shop: Shop) -> Outcome:
    order = await shop.orders("get", order="A")
    await shop.pay("pay", order=str(order["order"]))
    return Outcome("Done.", success=True)


async def waits(shop: Shop) -> Outcome:
    if not await paid(shop, "A"):
        await asyncio.Event().wait()
    return Outcome("Done.", success=True)


def named(agent: Callable[[Shop], Awaitable[Outcome]], contract: str, faults: str) -> Pattern | None:
    @target(name="shop", tasks=[Task("only")])
    async def shop(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # the protocol's
        pay = run.service("payments", {"pay": lambda order: order}, effects={"pay": effect("order")})
        mail = run.service("mail", {"send": lambda order: order}, effects={"send": effect("order")})
        orders = run.service("orders", {"get": lambda order: {"order": order, "amount": 4}}, read_only=True)
        return await agent(Shop(pay, mail, orders, run))

    limits = RunLimits(steps_max=40)
    bare = Experiment(shop, shop.task("only"), SystemConfig(), 0, default_contracts(), limits=limits)
    experiment = bare.with_nominal()
    trace = execute(experiment, parse(faults)).trace
    assert trace.verdict(contract).verdict is Verdict.VIOLATED, trace.ending_detail
    assert experiment.nominal is not None
    return pattern_in(trace, experiment.nominal, contract)


@pytest.mark.parametrize(
    ("agent", "contract", "faults", "pattern"),
    [
        (asks_again, "at-most-once", LOST, RETRY_WITHOUT_KEY),
        (does_not_catch, "no-crash", REFUSED, FAILURE_NOT_HANDLED),
        (promises, "promises-kept", REFUSED, EARLY_PROMISE),
        (stops_in_the_middle, "all-or-nothing", REFUSED, NO_COMPENSATION),
        (never_gives_up, "termination", REFUSED.replace("[1]", "[1..]"), UNBOUNDED_RETRY),
        (takes_fields_for_granted, "no-crash", "service:orders[1] service.partial_response(share=0.5)", BROKEN_ANSWER),
        (waits, "termination", REFUSED, WAIT_WITHOUT_LIMIT),
    ],
    ids=lambda given: getattr(given, "id", getattr(given, "__name__", None)),
)
def test_a_pattern_is_named_where_the_trace_shows_it(
    agent: Callable[[Shop], Awaitable[Outcome]], contract: str, faults: str, pattern: Pattern
) -> None:
    assert named(agent, contract, faults) is pattern


@pytest.mark.parametrize(
    ("agent", "contract", "faults"),
    [
        (
            asks_again_and_the_next_order_is_paid_twice,
            "at-most-once",
            "service:payments[2] service.lost_response(when=after)",
        ),
        (catches_and_has_another_bug, "no-crash", REFUSED),
        (promises_what_it_never_tried, "promises-kept", REFUSED),
        (asks_again, "at-most-once", "service:payments[1] service.duplicate_delivery(which=first)"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_no_pattern_is_named_for_a_fault_beside_what_broke(
    agent: Callable[[Shop], Awaitable[Outcome]], contract: str, faults: str
) -> None:
    assert named(agent, contract, faults) is None
