"""Which schedule stands for another that comes to the same state."""

from __future__ import annotations

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.operator import CostModel
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.searcher import SearchProgress
from chaosagent.targets.target import Run, target
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive
from chaosagent.vocabulary import Outcome

CONTRACT = "objective"
SERVICES = 4
TWO_LOSSES = 2.2


@target(name="counting")
async def counting(_: object, run: Run) -> Outcome:
    """Ask four services, and remember only how many have failed."""
    failed = 0
    for number in range(SERVICES):
        run.checkpoint(str(number), failed, clock_matters=False)
        try:
            await run.service(f"s{number}", {"get": lambda: 1}, read_only=True)("get")
        except ConnectionError:
            failed += 1
    return Outcome("done", success=failed < SERVICES)


def bench() -> Bench:
    lost = Choices("service.lost_response", {"when": ("before",)})
    return Bench(counting, [parse_contract(CONTRACT)], Space([lost], CostModel(c_mag=0.1)))


def searched(*, budget: float = TWO_LOSSES, all_minimal: bool = False, r3: bool = True) -> tuple[int, SearchProgress]:
    """Return how many schedules are run, and how the search stands then."""
    where = bench()
    searcher = ExactSearcher(where.problem(CONTRACT, budget, all_minimal=all_minimal), r3=r3)
    return drive(searcher, where.run), searcher.progress


def test_any_schedule_stands_for_another_that_comes_to_the_same_state() -> None:
    trials, progress = searched()
    trials_without, progress_without = searched(r3=False)

    # Without R3: nothing, four losses, and their six pairs. With it s0 stands for s1 and s2, behind which lie three.
    assert (trials, trials_without) == (8, 11)
    assert (progress.pruned["R3"], progress.level) == (3, "C2")
    assert progress.lower_bound == progress_without.lower_bound == float("inf")


def test_fewer_schedules_stand_for_others_where_all_minimal_counterexamples_are_wanted() -> None:
    trials, progress = searched(all_minimal=True)

    assert searched()[0] < trials < searched(r3=False)[0]
    assert progress.pruned["R3"] < searched()[1].pruned["R3"]


@pytest.mark.parametrize(
    ("budget", "all_minimal", "trials", "pruned"),
    [(2.2, False, 8, 3), (2.2, True, 9, 2), (3.3, False, 10, 4), (3.3, True, 11, 4)],
)
def test_convergence_saves_as_many_runs_as_it_can(
    budget: float, *, all_minimal: bool, trials: int, pruned: int
) -> None:
    run, progress = searched(budget=budget, all_minimal=all_minimal)

    assert (run, progress.pruned["R3"]) == (trials, pruned)


def test_a_schedule_that_is_told_late_takes_over_what_dearer_ones_were_searched_for() -> None:
    where = bench()
    searcher = ExactSearcher(where.problem(CONTRACT, TWO_LOSSES))
    (nothing,) = searcher.ask(4)
    searcher.tell(where.run(nothing.schedule))

    losses = [proposal.schedule for proposal in searcher.ask(4)]
    for schedule in reversed(losses):
        searcher.tell(where.run(schedule))
    rest = drive(searcher, where.run)

    assert 1 + len(losses) + rest == searched()[0]
    assert searcher.progress == searched()[1]
