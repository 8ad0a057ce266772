"""What the rules of the exact search save: how many schedules are run, and what is counted meanwhile.

The numbers are no promise. They change when a rule learns to save more; when one of them grows, a rule saves less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.seeds import derive
from chaosagent.testing.enumeration import drive
from tests.lab.targets.random_cases import COST_PAIR, random_case


class Effort(NamedTuple):
    """What a search took.

    Attributes:
        runs: How many schedules were run.
        pruned: How many schedules R1, R2 and R3 made unnecessary.
        waiting: How many schedules were waiting, summed over all runs.
        unknown: How many runs it announced as not yet shown by another.
    """

    runs: int
    pruned: tuple[int, ...]
    waiting: int
    unknown: int


def search(
    seed: int, *, lookahead: int = 1, is_reversed: bool = False, told_before: int = 0, **settings: Any
) -> tuple[Effort, ExactSearcher]:
    """Search a random program, and tell what is out in its order or in the opposite one.

    Some schedules that another search has run are passed to `tell` first.
    """
    case = random_case(seed)
    bench = case.bench()
    of_problem = {key: settings.pop(key) for key in ("all_minimal", "by_chance") if key in settings}
    problem = replace(bench.problem(case.contract, COST_PAIR), **of_problem)
    searcher = ExactSearcher(problem, **settings)
    if told_before:
        drive(ExactSearcher(problem), bench.run)
        known = sorted(bench.executed, key=str)
        for schedule in derive(seed, "b").sample(known, told_before):
            searcher.tell(bench.run(schedule))
    out: list[Schedule] = []
    runs = waiting = unknown = 0
    while not searcher.finished:
        out += [proposal.schedule for proposal in searcher.ask(lookahead - len(out))]
        if not out:
            break
        runs += 1
        waiting += searcher.waiting
        unknown += searcher.next_is_unknown
        searcher.tell(bench.run(out.pop(-1 if is_reversed else 0)))
    assert searcher.finished
    pruned = searcher.progress.pruned
    for proposal in searcher.audit(12):
        searcher.tell(bench.run(proposal.schedule))
    return Effort(runs, tuple(pruned.get(rule, 0) for rule in ("R1", "R2", "R3")), waiting, unknown), searcher


BACKWARDS = {"lookahead": 16, "is_reversed": True}
ALL: dict[str, Any] = {"lookahead": 2, "all_minimal": True}


@pytest.mark.parametrize(
    ("seed", "settings", "effort"),
    [
        (0, {}, Effort(34, (37, 9, 0), 1202, 33)),
        (5, {"r1": False}, Effort(24, (0, 30, 0), 398, 0)),
        (33, {}, Effort(33, (16, 0, 8), 624, 31)),
        (33, {"by_chance": True}, Effort(33, (16, 0, 8), 624, 0)),
        (3, BACKWARDS, Effort(24, (18, 1, 2), 0, 0)),
        (39, BACKWARDS, Effort(91, (112, 17, 22), 1455, 9)),
        (3, ALL, Effort(24, (18, 1, 2), 204, 22)),
        (6, ALL, Effort(120, (116, 0, 12), 6697, 117)),
        (11, ALL, Effort(7, (4, 0, 2), 8, 4)),
        (45, ALL, Effort(67, (64, 30, 12), 2788, 64)),
        (33, {"r1": False}, Effort(41, (0, 0, 0), 1140, 0)),
        (3, {"told_before": 8}, Effort(15, (17, 1, 3), 112, 12)),
        (80, {"told_before": 8}, Effort(7, (11, 5, 3), 40, 6)),
    ],
)
def test_a_search_takes_no_more_than_it_did(seed: int, settings: dict[str, Any], effort: Effort) -> None:
    found, searcher = search(seed, **settings)

    assert found == effort
    assert searcher.progress.contradictions == 0


def test_an_audit_runs_what_was_foreseen() -> None:
    assert search(3, **ALL)[1].progress.audited_of["R3"] > 0


@pytest.mark.parametrize("seed", [3, 33])
def test_nothing_waits_where_all_that_can_be_afforded_was_run(seed: int) -> None:
    searcher = search(seed)[1]

    assert searcher.progress.lower_bound == float("inf")
    assert searcher.waiting == 0
