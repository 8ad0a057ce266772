"""Rule R1 loses nothing: whatever keeps a call alive, and whatever operators do with it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.effects.rule import effect
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.anytime import anytime
from chaosagent.searchers.exact import exact
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive
from chaosagent.vocabulary import Effect, Outcome, Task
from tests.lab.soundness.attack import Report, compare
from tests.lab.soundness.random_programs import random_case
from tests.lab.soundness.strange_operators import registered
from tests.lab.targets.random_cases import needles
from tests.thorough import cases, part_of

BUDGET = 2.3
DELAY = Choices("service.delay", {"seconds": (5.0,)})
DUPLICATE = Choices("service.duplicate_delivery", {"which": ("first",)})


@target(tasks=[Task("t")])
async def racing(_: Task, run: Run) -> Outcome:
    """Pay and look at once; the slower of the two is given up."""

    async def pay(order: str) -> str:
        await asyncio.sleep(2.0)
        return order

    async def look(order: str) -> str:
        await asyncio.sleep(1.0)
        return order

    payments = run.service("payments", {"pay": pay}, effects={"pay": effect("order")})
    orders = run.service("orders", {"look": look}, read_only=True)
    calls = [asyncio.create_task(payments("pay", order="A-1")), asyncio.create_task(orders("look", order="A-1"))]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    return Outcome("done", success=True)


@target(tasks=[Task("t")])
async def leaving_early(_: Task, run: Run) -> Outcome:
    """Pay in the background, and end as soon as a note is read."""

    async def pay(order: str) -> str:
        await asyncio.sleep(2.0)
        return order

    payments = run.service("payments", {"pay": pay}, effects={"pay": effect("order")})
    notes = run.service("notes", {"read": lambda: "done"}, read_only=True)
    paying = asyncio.create_task(payments("pay", order="A-1"))
    await asyncio.sleep(0)
    await notes("read")
    del paying
    return Outcome("done", success=True)


@target(tasks=[Task("t")])
async def telling_slowly(_: Task, run: Run) -> Outcome:
    """Send an order over a slow channel, for at most as long as a lookup takes; each delivery pays."""

    async def send(operation: str, /, to: str, body: Any) -> None:
        del operation, to
        await asyncio.sleep(2.0)
        await payments("pay", order=body)

    payments = run.service("payments", {"pay": lambda order: order}, effects={"pay": effect("order")})
    orders = run.service("orders", {"look": lambda order: order}, read_only=True)
    desk = run.message("desk", send)
    sending = asyncio.create_task(desk("send", to="clerk", body="A-1"))
    await asyncio.sleep(0)
    await orders("look", order="A-1")
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    return Outcome("done", success=True)


@pytest.mark.parametrize("make", [exact, anytime])
@pytest.mark.parametrize(
    ("system", "choices"),
    [
        (racing, [DELAY, DUPLICATE]),
        (leaving_early, [DELAY, Choices("service.late_duplicate", {"seconds": (0.5,)})]),
        (leaving_early, [DELAY, DUPLICATE]),
        (telling_slowly, [DELAY, Choices("message.duplicate", {})]),
    ],
    ids=["duplicate", "late-duplicate", "run-ends-first", "slow-channel"],
)
def test_a_fault_that_lands_only_because_of_a_later_one_is_found(
    make: Any, system: Target, choices: list[Choices]
) -> None:
    bench = Bench(system, [parse_contract("at-most-once")], Space(choices))
    searcher = make(bench.problem("at-most-once", BUDGET))
    costs: list[float] = []

    def run(schedule: Any) -> Evaluation:
        evaluation = bench.run(schedule)
        if evaluation.verdicts[0].violation is not None:
            costs.append(evaluation.effective.declared_cost(bench.space.model))
        return evaluation

    drive(searcher, run)

    truth = bench.minimum("at-most-once", BUDGET)
    assert truth is not None
    assert truth > 2.0, "one fault must not be enough, or nothing is shown"
    assert min(costs) == truth == searcher.progress.lower_bound


@pytest.mark.slow
@cases(40)
@given(seed=st.integers(0, 2**32))
def test_every_final_state_of_a_concurrent_program_is_found_at_its_least_cost(seed: int) -> None:
    report = Report()

    with registered():
        compare(random_case(seed, strange=seed % 3 == 0), report, seed)

    assert not report.wrong, "\n".join(map(str, report.wrong[seed]))


@pytest.mark.slow
def test_the_comparison_of_final_states_is_not_vacuous() -> None:
    report = Report()

    with registered():
        for seed in range(part_of(20)):
            compare(random_case(seed), report, seed)

    assert report.programs >= part_of(15)
    assert report.searches >= part_of(15) * 6 * 3, "most programs have several final states"
    assert not report.wrong


def test_a_run_whose_acts_come_in_another_order_withdraws_the_rule() -> None:
    bench = Bench(racing, needles(0), Space([DELAY, DUPLICATE]))
    searcher = exact(bench.problem("at-most-once", BUDGET))
    delay, both = (
        bench.run(parse(text))
        for text in (
            "service:orders[1] service.delay(seconds=5.0)",
            "service:orders[1] service.delay(seconds=5.0); service:payments[1] service.duplicate_delivery(which=first)",
        )
    )
    searcher.tell(bench.run(EMPTY))
    searcher.tell(delay)
    assert searcher.rules["R1"]
    assert both.acts[:1] == delay.acts

    searcher.tell(replace(both, acts=tuple(act._replace(position=act.position + 1) for act in both.acts)))

    assert not searcher.rules["R1"]
    assert searcher.progress.contradictions == 1


def test_what_the_order_of_acting_pruned_is_counted_and_audited() -> None:
    bench = Bench(calling_twice, needles(0), Space([DELAY, DUPLICATE]))
    searcher = exact(bench.problem("termination", BUDGET))
    drive(searcher, bench.run)

    audit = searcher.audit(64)
    for proposal in audit:
        searcher.tell(bench.run(proposal.schedule))

    assert searcher.progress.pruned["R1"] > 0
    assert searcher.progress.audited_of.get("R1", 0) == len(audit) > 0
    assert searcher.progress.contradictions == 0


@target(tasks=[Task("t")])
async def calling_twice(_: Task, run: Run) -> Outcome:
    """Pay twice, the second time only if the first took no time."""
    payments = run.service(
        "payments",
        {"pay": lambda order: {"order": order}},
        effects={"pay": lambda asked, _: Effect("pay", {"order": asked["order"]})},
    )
    begun = run.clock.now()
    await payments("pay", order="A-1")
    if run.clock.now() == begun:
        await payments("pay", order="A-2")
    return Outcome("done", success=True)
