"""Rule R3 and the limits of a run: a run that is spared may be longer than the one that stands for it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import decode_evaluation, encode_evaluation
from chaosagent.faults.injection import hook_at, inject
from chaosagent.faults.schedule import EMPTY, Schedule, parse, schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import RunLimits
from chaosagent.searchers.anytime import AnytimeSearcher, anytime
from chaosagent.searchers.exact import exact
from chaosagent.searchers.proof import uniform_cost
from chaosagent.searchers.proof.bisection import Certifying
from chaosagent.searchers.proof.limits import limit_share_max
from chaosagent.searchers.seen.states import States
from chaosagent.study.searcher import Problem, Searcher
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.vocabulary import Ending, Outcome, Task

SPACE = Space([Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)})])
BUDGET = 3.4


class Case(NamedTuple):
    """A target that does more after each fault and then knows nothing of it any more.

    Attributes:
        rounds: Calls that can be disturbed.
        work: Steps that a fault costs.
        waits: Virtual seconds that a fault costs.
        steps_max: Limit of a run.
        seconds_max: Limit of a run.
    """

    rounds: int
    work: int
    waits: float
    steps_max: int
    seconds_max: float

    @property
    def system(self) -> Target:
        """The target."""

        @target(name="forgetful", tasks=[Task("default")])
        async def agent(task: Task, run: Run) -> Outcome:
            """Asks a service again and again, and makes notes of what went wrong."""
            del task
            crm = run.service("crm", {"get": lambda number: {"value": number}}, read_only=True)
            for number in range(self.rounds):
                try:
                    await crm("get", number=number)
                except Exception:
                    for _ in range(self.work):
                        run.note("trouble", number=number)
                    await run.clock.sleep(self.waits)
                run.checkpoint(str(number), None, clock_matters=False, artifacts_matter=False)
            return Outcome("done", success=True)

        return agent

    @property
    def bench(self) -> Bench:
        """Where it runs."""
        limits = RunLimits(steps_max=self.steps_max, virtual_seconds_max=self.seconds_max)
        return Bench(self.system, [parse_contract("termination")], SPACE, limits=limits)


def driven(searcher: Searcher, bench: Bench) -> Searcher:
    while proposals := searcher.ask(3):
        for proposal in proposals:
            searcher.tell(bench.run(proposal.schedule))
    return searcher


CASES = st.builds(
    Case,
    rounds=st.integers(2, 4),
    work=st.integers(0, 12),
    waits=st.sampled_from([0.0, 5.0, 20.0]),
    steps_max=st.integers(8, 60),
    seconds_max=st.sampled_from([12.0, 30.0, 1e6]),
)


@settings(max_examples=60, deadline=None)
@given(CASES, st.sampled_from([exact, AnytimeSearcher]))
def test_what_breaks_only_at_a_limit_is_found_and_no_bound_is_false(case: Case, make: type[AnytimeSearcher]) -> None:
    bench = case.bench
    truth = bench.minimum("termination", BUDGET)

    searcher = driven(make(bench.problem("termination", BUDGET)), bench)

    assert searcher.finished
    bound = searcher.progress.lower_bound
    assert bound == truth if truth is not None else bound > BUDGET  # a run with more faults may have broken it


NEAR = Case(rounds=3, work=10, waits=0.0, steps_max=22, seconds_max=1e6)
"""Two faults bring it to its limit, one to half of it."""


def test_near_a_limit_the_rule_is_given_up_and_that_is_said() -> None:
    bench = NEAR.bench
    searcher = driven(exact(bench.problem("termination", BUDGET)), bench)

    assert searcher.progress.lower_bound == bench.minimum("termination", BUDGET) == pytest.approx(2 * SPACE.cost_min)
    assert searcher.progress.near_limit > 0.5
    assert searcher.progress.contradictions == 0
    assert "R3" not in searcher.progress.pruned


@pytest.mark.parametrize("make", [exact, anytime, functools.partial(exact, monotone=True)])
def test_when_it_is_given_up_what_was_told_still_counts(make: Callable[[Problem], Certifying]) -> None:
    bench = NEAR.bench
    searcher = make(bench.problem("termination", BUDGET))
    bounds = []

    while proposals := searcher.ask(1):
        searcher.tell(bench.run(proposals[0].schedule))
        bounds.append(searcher.progress.lower_bound)

    assert searcher.progress.near_limit > 0.5
    assert min(bounds[1:]) >= SPACE.cost_min  # the first run was the one without injections


def test_without_that_the_bound_would_be_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniform_cost, "limit_share_max", lambda _: 2.0)
    bench = NEAR.bench
    searcher = driven(exact(bench.problem("termination", BUDGET)), bench)

    assert searcher.progress.pruned["R3"] > 0
    assert searcher.progress.lower_bound > (bench.minimum("termination", BUDGET) or 0.0)


def test_far_from_all_limits_the_rule_stays() -> None:
    bench = NEAR._replace(steps_max=2_000).bench
    searcher = driven(exact(bench.problem("termination", BUDGET)), bench)

    assert searcher.progress.near_limit == 0.0
    assert searcher.progress.pruned["R3"] > 0
    assert searcher.progress.lower_bound == math.inf


def test_a_run_dearer_than_the_budget_takes_nothing_away() -> None:
    bench = NEAR._replace(steps_max=60).bench
    places = [crossing.place for crossing in bench.run(EMPTY).crossings]
    fault = SPACE.choices[0].operators()[0]
    faults = schedule(inject(hook_at(place), fault) for place in places)
    searcher = exact(bench.problem("termination", SPACE.cost_min))
    for told in (EMPTY, schedule(faults.injections[:1]), faults):
        searcher.tell(bench.run(told))

    assert bench.run(faults).spent > limit_share_max(bench.problem("termination", SPACE.cost_min))
    assert searcher.progress.near_limit == 0.0


def test_the_share_follows_from_how_many_injections_the_budget_allows() -> None:
    def share(budget: float) -> float:
        return limit_share_max(Problem("termination", 0, SPACE, budget, 0))

    cheapest = SPACE.cost_min
    assert share(0.5 * cheapest) == 1.0
    assert share(cheapest) == pytest.approx(1 / 3)
    assert share(2.5 * cheapest) == pytest.approx(1 / 5)


def test_what_a_run_has_used_is_told_and_kept() -> None:
    ended: Evaluation = NEAR._replace(steps_max=2).bench.run(EMPTY)  # it takes three, so it ends beyond its limit
    slow = NEAR._replace(waits=30.0, seconds_max=60.0, steps_max=2_000).bench
    places = [crossing.place for crossing in slow.run(EMPTY).crossings]

    assert (ended.ending, ended.detail, ended.spent) == (Ending.FINISHED, "beyond the limit of 2 steps", 1.0)
    assert NEAR.bench.run(EMPTY).spent == pytest.approx(3 / 22)
    assert len(places) == 3
    assert decode_evaluation(encode_evaluation(ended)).spent == 1.0


@target(name="slowed", tasks=[Task("default")])
async def slowed(_: Task, run: Run) -> Outcome:
    """Is slow from the first failure on, and gives up at the second."""
    crm = run.service("crm", {"get": lambda: 1}, read_only=True)
    is_slow = False
    for number in range(ROUNDS):
        try:
            await crm("get")
        except Exception:
            if is_slow:
                return Outcome("stopped", success=True)
            is_slow = True
        await run.clock.sleep(10.0 * is_slow)
        run.checkpoint(str(number), is_slow, clock_matters=False, artifacts_matter=False)
    return Outcome("done", success=True)


ROUNDS = 12


def failing(*numbers: int) -> Schedule:
    return parse("; ".join(f"service:crm[{number}] error_status(status=503, when=before)" for number in numbers))


@pytest.mark.parametrize("make", [exact, AnytimeSearcher])
def test_short_runs_that_show_a_long_one_part_by_part_do_not_stand_for_it(make: Callable[..., Searcher]) -> None:
    limits = RunLimits(virtual_seconds_max=10.0 * ROUNDS - 1.0)
    bench = Bench(slowed, [parse_contract("termination")], SPACE, limits=limits)
    problem = bench.problem("termination", 2 * SPACE.cost_min)
    searcher = make(problem)
    shown = [failing(), *(failing(number, number + 2) for number in range(1, ROUNDS - 1)), failing(11), failing(12)]
    states = States(problem.monitor, SPACE.model, 0)

    for short in map(bench.run, shown):
        assert short.spent < limit_share_max(problem)
        states.take(short)
        searcher.tell(short)
    driven(searcher, bench)

    assert searcher.progress.lower_bound == bench.minimum("termination", BUDGET) == SPACE.cost_min
    assert states.foretold(failing(1)) is None
    assert states.foretold(failing(10)) is not None
