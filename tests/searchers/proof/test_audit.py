"""A rule that is wrong is found by an audit with the probability that the certificate prints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.exact import exact
from chaosagent.searchers.proof.bisection import Certifying
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive
from chaosagent.vocabulary import Outcome
from tests.lab.targets.derivations import Derivations
from tests.lab.targets.random_cases import COST_PAIR, random_case
from tests.lab.targets.thresholds import SECONDS, Limit, Thresholds

CONTRACT = "objective"
BUDGET = 2.6
SEEDS = 300
AUDIT = 12
ALPHA = 0.001
LOST = Choices("service.lost_response", {"when": ("before", "after")})
CORRUPT = Choices("service.field_corruption", {"kind": ("null", "zero"), "field": ("value",)})
SERVICES = 4


def forgetful() -> Target:
    """Return a target whose checkpoints leave out that its first answer was lost."""

    @target(name="forgetful")
    async def ask_all(_: object, run: Run) -> Outcome:
        usable: list[bool] = []
        for number in range(SERVICES):
            run.checkpoint(str(number), usable[1:], clock_matters=False)
            usable.append(await _is_usable(run, f"s{number}", _answer))
        return Outcome("done", success=usable[0] or usable[-1])

    return ask_all


def mislabelled() -> Target:
    """Return a target with a service that is said to change nothing, and remembers that it was asked."""

    @target(name="mislabelled")
    async def ask_all(_: object, run: Run) -> Outcome:
        asked: list[bool] = []

        def remember(operation: str) -> dict[str, int]:
            asked.append(True)
            return _answer(operation)

        usable = [await _is_usable(run, f"s{number}", _answer) for number in range(SERVICES)]
        try:
            await run.service("remembers", remember, read_only=True)("get")
        except ConnectionError:
            return Outcome("lost", success=all(usable) or not asked)
        return Outcome("done", success=True)

    return ask_all


async def _is_usable(run: Run, name: str, implementation: Callable[..., object]) -> bool:
    try:
        answer = await run.service(name, implementation, read_only=True)("get")
    except ConnectionError:
        return False
    return bool(answer["value"])


def _answer(operation: str) -> dict[str, int]:
    del operation
    return {"value": 1}


def bench_of(wrong: Target) -> Bench:
    return Bench(wrong, [parse_contract(CONTRACT)], Space([LOST, CORRUPT], CostModel(c_mag=0.1)))


def too_late() -> Bench:
    """Return a target that notices answers that are much too late, and not those that are only late."""
    return Thresholds(4, None, ((Limit(1, SECONDS[2], 0),),), True, CostModel(c_mag=0.5), 1).bench(honest=False)


def undeclared() -> Bench:
    """Return a target that leaves a call out of its provenance."""
    return Derivations(5, ((0, 1), (1, 2), (1, 3)), False, 1, False, CostModel(), 1).bench(hidden=1)


WRONG: dict[str, tuple[Callable[[], Bench], str, dict[str, bool]]] = {
    "fingerprint": (lambda: bench_of(forgetful()), "R3", {}),
    "read-only label": (lambda: bench_of(mislabelled()), "R2", {"r3": False}),
    "monotone magnitude": (too_late, "monotone", {"monotone": True}),
    "lineage": (undeclared, "lineage", {"lineage": True}),
}
"""Wrong declarations: where, the rule that relies on them, and the settings of the search."""


def searched(bench: Bench, seed: int, rules: dict[str, bool]) -> Certifying:
    searcher = exact(bench.problem(CONTRACT, BUDGET, search_seed=seed), **rules)
    drive(searcher, bench.run)
    return searcher


def is_caught(searcher: Certifying, bench: Bench, schedules: Iterable[Schedule]) -> bool:
    for schedule in schedules:
        searcher.tell(bench.run(schedule))
    return searcher.progress.contradictions > 0


def at_most(hits: int, trials: int, probability: float) -> float:
    """Return the probability of at most so many hits."""
    return sum(
        math.comb(trials, number) * probability**number * (1.0 - probability) ** (trials - number)
        for number in range(hits + 1)
    )


def contradicting_share(searcher: Any, bench: Bench, rule: str) -> float:
    """Return in which share of the schedules that a rule pruned it is wrong, by running all of them."""
    if rule in ("R2", "R3"):
        audit = searcher._audit
        assert len(audit._kept[rule]) == audit._seen[rule]
        wrong = [audit._differ(one, bench.run(one.schedule), bench.run(one.twin)) for one in audit._kept[rule]]
    elif rule == "monotone":
        weaker = [(one, top) for top, _ in searcher._stood_for() for one in searcher._space.weaker(top)]
        costs = {one: one.declared_cost(bench.space.model) for one, _ in weaker}
        pruned = [one for one, top in weaker if one != top and costs[one] <= BUDGET and one not in searcher._told]
        wrong = [violates(bench.run(one), CONTRACT) for one in pruned]
    else:
        pruned = [held.schedule for held in searcher._held if held.least > held.cost]
        wrong = [violates(bench.run(one), CONTRACT) for one in pruned]
    return statistics.fmean(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_is_caught_with_the_probability_that_is_printed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, rule, rules = WRONG[name]
    bench = make()
    with monkeypatch.context() as patch:
        patch.setattr("chaosagent.searchers.proof.audit.SAMPLES_MAX", 10_000)  # so that all are kept
        share = contradicting_share(searched(bench, 0, rules), bench, rule)
    hits, audited = 0, set()
    for seed in range(SEEDS):
        searcher = searched(bench, seed, rules)
        assert searcher.progress.contradictions == 0
        proposals = searcher.audit(AUDIT)
        caught = is_caught(searcher, bench, [proposal.schedule for proposal in proposals])
        hits += caught
        if not caught:
            audited.add(searcher.progress.audited_of[rule])

    # What is run as an audit of another rule may show it, too; so it is at least as likely as that.
    probability = 1.0 - (1.0 - share) ** min(audited, default=AUDIT)

    assert 0.2 < probability < 1.0
    assert at_most(hits, SEEDS, probability) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_what_was_claimed_wrongly_is_withdrawn_and_the_truth_found(name: str) -> None:
    make, rule, rules = WRONG[name]
    bench = make()
    truth = bench.minimum(CONTRACT, BUDGET)
    searcher = searched(bench, 0, rules)
    claimed = searcher.progress

    for _ in range(40):
        if is_caught(searcher, bench, [proposal.schedule for proposal in searcher.audit(AUDIT)]):
            break
    drive(searcher, bench.run)

    assert truth is not None
    assert claimed.lower_bound > truth
    assert searcher.progress.contradictions == 1
    assert searcher.progress.lower_bound == truth
    assert rule not in searcher.progress.pruned


def test_an_honest_target_contradicts_no_rule() -> None:
    audited = 0
    for seed in range(12):
        case = random_case(seed)
        bench = case.bench()
        searcher = exact(bench.problem(case.contract, COST_PAIR))
        drive(searcher, bench.run, lookahead=case.lookahead)
        for proposal in searcher.audit(60):
            searcher.tell(bench.run(proposal.schedule))
        assert searcher.progress.contradictions == 0, seed
        audited += searcher.progress.audited
    assert audited > 100


def test_half_of_an_audit_goes_to_each_rule_that_pruned_and_more_lies_below() -> None:
    bench = bench_of(forgetful())
    searcher = exact(bench.problem(CONTRACT, 1.4))
    drive(searcher, bench.run)

    for proposal in searcher.audit(16):
        searcher.tell(bench.run(proposal.schedule))
    progress = searcher.progress

    assert progress.pruned["R2"] > 8
    assert progress.audited_of["R2"] <= 8 or not progress.pruned["R3"]
    assert progress.audited >= sum(progress.audited_of.values())
