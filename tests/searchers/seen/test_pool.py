"""The pool knows exactly what the runs have shown, whether it looked at each of them closely or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import place_of
from chaosagent.faults.schedule import EMPTY, schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.drawing.draft import Draft
from chaosagent.searchers.seen.points import Candidate, Expander
from chaosagent.searchers.seen.pool import MISSES_MAX, Arm, Pool, margin_of
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from chaosagent.testing.searchers import BUDGET, bench
from tests.lab.targets.programs import Pay, Program, Read, Together, target_of

BREAK = Choices("service.lost_response", {"when": ("before",)})
NULL = Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",))
NEEDLE = FinalNeedle(share=6, number=5)


def retrying(*choices: Choices) -> Bench:
    """Return a target that reads twice when the first answer does not come."""
    return Bench(target_of(Program((Read(0, "x", "a", 1), Pay("a")))), (NEEDLE,), Space(choices))


def walked(system: Bench, problem: Problem, runs: int, seed: int) -> list[Evaluation]:
    """Return the runs of a walk that adds to earlier runs what these show to be possible."""
    expander, rng = Expander(problem.space, problem.seed), derive(seed, "walk")
    told = [system.run(EMPTY)]
    while len(told) < runs:
        parent = rng.choice(told)
        candidates = expander.expand(parent, after=-1).candidates
        if candidates and len(parent.schedule) < 3:
            told.append(system.run(parent.schedule.with_injection(rng.choice(candidates).injection)))
    return told


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "system",
    [
        bench(),
        retrying(BREAK, NULL),
        Bench(
            target_of(Program((Together(((Read(0, "x", "a", 1),), (Read(0, "yy", "b", 1),))), Read(0, "x", "a")))),
            (NEEDLE,),
            Space([BREAK, NULL, Choices("service.stale_response", {}), Choices("service.duplicate_delivery", {})]),
        ),
    ],
    ids=["mixed", "retrying", "parallel"],
)
def test_it_knows_what_all_runs_together_have_shown(system: Bench, seed: int) -> None:
    problem = system.problem(NEEDLE.id, BUDGET)
    told = walked(system, problem, 60, seed)
    pool = Pool(problem)
    fresh: list[Candidate] = []

    for evaluation in told:
        fresh += pool.learn(evaluation)

    expander = Expander(problem.space, problem.seed)
    shown = {found.injection for told_of in told for found in expander.expand(told_of, after=-1).candidates}
    assert {candidate.injection for candidate in pool.candidates} == shown
    assert fresh == pool.candidates
    by_site = [candidate.injection for site in pool.sites.values() for candidate in site.candidates]
    by_arm = [candidate.injection for arm in pool.arms.values() for candidate in arm]
    assert sorted(by_site) == sorted(by_arm) == sorted(shown)


def test_what_is_dearer_than_the_budget_is_left_out() -> None:
    system = retrying(BREAK, NULL)
    cheap, dear = Pool(system.problem(NEEDLE.id, 1.05)), Pool(system.problem(NEEDLE.id, 3.0))

    for pool in (cheap, dear):
        pool.learn(system.run(EMPTY))

    assert {candidate.cost for candidate in dear.candidates} > {candidate.cost for candidate in cheap.candidates}
    assert all(candidate.cost <= 1.05 for candidate in cheap.candidates)


def test_it_keeps_the_cheapest_way_to_a_place_that_faults_brought_about() -> None:
    system = retrying(BREAK)
    pool = Pool(system.problem(NEEDLE.id, 9.0))
    pool.learn(system.run(EMPTY))
    first, last = (candidate.injection for candidate in pool.candidates)
    both = schedule([first, last])

    pool.learn(system.run(both))

    (retry,) = [site for site in pool.sites.values() if site.place.attempt == 1]
    assert list(retry.needs) == [first]  # and not the one that acts behind it
    assert retry.needs_cost == pool.cost(first)
    assert {place_of(candidate.injection) for candidate in retry.candidates} == {retry.place}
    assert retry.place in {crossing.place for crossing in system.run(retry.needs).crossings}


def test_an_injection_that_never_lands_becomes_idle_and_one_that_lands_does_not() -> None:
    system = retrying(BREAK, NULL)
    problem = system.problem(NEEDLE.id, 9.0)
    pool = Pool(problem)
    pool.learn(system.run(EMPTY))
    injection = pool.candidates[0].injection
    missed = replace(system.run(EMPTY), schedule=schedule([injection]))

    for number in range(MISSES_MAX):
        assert not pool.is_idle(injection), number
        pool.learn(missed)
    assert pool.is_idle(injection)

    pool.learn(system.run(schedule([injection])))
    assert not pool.is_idle(injection)


def test_the_ceiling_falls_to_below_the_cheapest_violation() -> None:
    system = bench()
    violating = next(told for told in walked(system, system.problem(NEEDLE.id, BUDGET), 60, 1) if _is_broken(told))
    one, every = (Pool(system.problem(NEEDLE.id, BUDGET, all_minimal=wanted)) for wanted in (False, True))

    for pool in (one, every):
        assert BUDGET < pool.ceiling < BUDGET + 0.001
        assert not pool.is_known(violating.effective)
        pool.learn(violating)

    cost = violating.effective.declared_cost(system.space.model)
    assert cost - 0.001 < one.ceiling < cost == one.known.best
    assert every.ceiling > BUDGET
    assert every.is_known(violating.effective)
    assert not every.is_known(EMPTY)


def _is_broken(told: Evaluation) -> bool:
    return told.schedule != EMPTY and violates(told, NEEDLE.id)


def test_what_lands_alone_and_leads_nowhere_is_futile() -> None:
    planted = FAMILIES["pair"].planted(0)
    harmful = {injection for minimum in planted.minima for injection in minimum}
    pools = {}
    for checkpoints in (True, False):
        twin = FAMILIES["pair"].planted(0, checkpoints=checkpoints)
        system = Bench(twin.target, (KEPT,), twin.space)
        pools[checkpoints] = pool = Pool(system.problem(KEPT.id, planted.budget))
        pool.learn(system.run(EMPTY))
        for candidate in tuple(pool.candidates):
            pool.learn(system.run(schedule([candidate.injection])))

    futile, rng = pools[True].futile, derive(0, "pass over")
    assert harmful <= {candidate.injection for candidate in pools[True].candidates} - futile
    assert len(futile) > len(pools[True].candidates) / 4
    assert pools[False].futile < futile  # without checkpoints nobody knows what came back
    passed = [pools[True].is_passed_over(min(futile), rng) for _ in range(200)]
    assert 150 < sum(passed) < 200
    assert not any(pools[True].is_passed_over(min(harmful), rng) for _ in range(200))


def test_what_could_not_be_run_teaches_nothing() -> None:
    system = retrying(BREAK)
    pool = Pool(system.problem(NEEDLE.id, BUDGET))

    assert pool.learn(Evaluation(EMPTY, Status.ERROR, "killed")) == ()

    assert margin_of(Evaluation(EMPTY, Status.ERROR, "killed"), NEEDLE.id) == 1.0
    assert pool.learn(system.run(EMPTY))


def test_arms_are_operators_on_interfaces() -> None:
    system = retrying(BREAK, NULL)
    pool = Pool(system.problem(NEEDLE.id, BUDGET))

    pool.learn(system.run(EMPTY))

    for arm, candidates in pool.arms.items():
        of_arm = {Arm(one.injection.operator_name, one.injection.hook.interface) for one in candidates}
        assert of_arm == {arm}


def test_a_draft_has_one_injection_at_a_place_and_is_no_dearer_than_its_ceiling() -> None:
    system = retrying(BREAK, NULL)
    pool = Pool(system.problem(NEEDLE.id, 9.0))
    pool.learn(system.run(EMPTY))
    injections = [candidate.injection for candidate in pool.candidates]
    full, cheap = Draft(pool, 9.0), Draft(pool, 1.5)

    full.add_all(injections)
    cheap.add_all(injections)

    assert len({place_of(injection) for injection in full.schedule}) == len(full) == len(pool.sites)
    assert len(injections) > len(full) > 1
    assert len(cheap.schedule) == 1
    assert cheap.left < min(pool.cost(injection) for injection in injections)


def test_a_draft_takes_along_what_a_place_needs_and_leaves_out_what_never_lands() -> None:
    system = retrying(BREAK)
    pool = Pool(system.problem(NEEDLE.id, 9.0))
    pool.learn(system.run(EMPTY))
    first = pool.candidates[0].injection
    pool.learn(system.run(schedule([first])))
    (retry,) = [site for site in pool.sites.values() if site.needs]
    draft, poor = Draft(pool, 3.0), Draft(pool, 1.5)

    assert draft.add(retry.candidates[0].injection)
    assert not poor.add(retry.candidates[0].injection)

    assert set(draft.schedule) == {first, retry.candidates[0].injection}
    assert len(poor) == 0
    for _ in range(MISSES_MAX):
        pool.learn(replace(system.run(retry.needs), schedule=draft.schedule))
    assert not Draft(pool, 9.0).add(retry.candidates[0].injection)
