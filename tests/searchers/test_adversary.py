"""The adversary learns to react: on a target that dodges fixed schedules it violates more often with time."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from chaosagent.errors import UsageError
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.adversary import AdversarySearcher
from chaosagent.seeds import derive
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.vocabulary import Outcome, StatusError, Task, Verdict

ROUNDS, HITS, EPISODES = 16, 3, 150
FAILURES = (TimeoutError, ConnectionError, StatusError)
FAULTS = Space([Choices("service.error_status", {}), Choices("service.timeout", {})])


def dodging(seed: int) -> Target:
    """Return a target that is hurt by faults at orders in busy rounds; which those are changes with every fault.

    The scout tells whether a round is busy, so what reacts to it needs no luck.
    """

    @target(name="dodging", tasks=[Task("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        """Looks around and then asks for an order, round by round."""
        del task
        faults = hits = 0

        def is_busy(number: int) -> bool:
            return derive(seed, "busy", faults, number).random() < 0.5

        scout = run.service("scout", {"look": lambda number: ["rush"] if is_busy(number) else "quiet"}, read_only=True)
        orders = run.service("orders", {"get": lambda number: {"id": number}}, read_only=True)
        for number in range(ROUNDS):
            busy = is_busy(number)
            try:
                await scout("look", number=number)
            except FAILURES:
                faults += 1
            try:
                await orders("get", number=number)
            except FAILURES:
                faults, hits = faults + 1, hits + busy
        return Outcome("done", state={"distance": max(0.0, 1.0 - hits / HITS)})

    return agent


@functools.cache
def violations(seed: int, *, learns: bool) -> tuple[bool, ...]:
    """Return which episodes of a training violate; known counterexamples are blocked, so each is a new one."""
    bench = Bench(dodging(seed), [KEPT], FAULTS)
    problem = replace(bench.problem("kept", 3.9, search_seed=seed), all_minimal=True)
    searcher = AdversarySearcher(problem, learns=learns)
    found = []
    for _ in range(EPISODES):
        evaluation = bench.answer(searcher.ask(1)[0])
        searcher.tell(evaluation)
        found.append(violates(evaluation, "kept"))
    return tuple(found)


@pytest.mark.slow
def test_it_violates_more_often_with_time_and_more_often_than_without_learning() -> None:
    trained = [violations(seed, learns=True) for seed in range(3)]
    untrained = [violations(seed, learns=False) for seed in range(3)]

    early, late = (sum(sum(found[part]) for found in trained) for part in (slice(0, 50), slice(50, 150)))
    luck = sum(sum(found[50:]) for found in untrained)

    assert late / 2 > 1.4 * early  # the second part is twice as long
    assert late > 4 * luck


def told_nominal() -> tuple[AdversarySearcher, Bench, Evaluation]:
    bench = Bench(dodging(0), [KEPT], FAULTS)
    searcher = AdversarySearcher(bench.problem("kept", 3.9))
    nominal = bench.run(EMPTY)
    searcher.tell(nominal)
    return searcher, bench, nominal


def test_it_begins_with_the_run_without_injections() -> None:
    bench = Bench(dodging(0), [KEPT], FAULTS)
    searcher = AdversarySearcher(bench.problem("kept", 3.9))

    assert [(one.schedule, one.policy) for one in searcher.ask(5)] == [(EMPTY, None)]
    assert searcher.ask(5) == []


def test_behind_a_violation_its_policies_look_for_cheaper_ones() -> None:
    searcher, bench, nominal = told_nominal()
    broken = tuple(verdict._replace(verdict=Verdict.VIOLATED) for verdict in nominal.verdicts)  # as if it had violated
    (before,) = searcher.ask(1)
    while len((played := bench.answer(before)).effective) < 2:
        (before,) = searcher.ask(1)

    searcher.tell(replace(played, verdicts=broken))
    (after,) = searcher.ask(1)

    assert before.policy is not None
    assert after.policy is not None
    assert before.policy.budget == pytest.approx(3.9)
    assert after.policy.budget < played.effective.declared_cost(FAULTS.model)


def test_what_replays_do_not_bear_out_is_worth_less() -> None:
    steady, bench, _ = told_nominal()
    shaky, _, _ = told_nominal()
    (proposal,) = steady.ask(1)
    told = bench.answer(proposal)

    steady.tell(told)
    shaky.tell(replace(told, instability=0.5))

    assert mean_weight(shaky) < mean_weight(steady)


def mean_weight(searcher: AdversarySearcher) -> float:
    """Return the mean of what the next policy that uses what was learned knows."""
    for _ in range(20):
        policy = searcher.ask(1)[0].policy
        means = [] if policy is None else [mean for _, row in policy.weights for _, mean, _ in row]
        if means:
            return sum(means) / len(means)
    raise AssertionError("no policy knows anything")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"discount": 0.2}, r"discount is 0\.2; it must be a number from 0\.5 to 1\."),
        ({"cost_weight": -1.0}, r"cost_weight is -1\.0; it must be a number from 0 to 10\."),
        ({"instability_weight": 11.0}, r"instability_weight is 11\.0; it must be a number from 0 to 10\."),
        ({"noise": 0.0}, r"noise is 0\.0; it must be a number from 0\.0001 to 10\."),
    ],
)
def test_settings_out_of_bounds_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings("adversary", AdversarySearcher, settings)
