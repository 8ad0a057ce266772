"""The audit of rule R3 finds checkpoints that leave something out, and looks first where variables differed."""

from __future__ import annotations

import contextlib

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution import execute
from chaosagent.experiments.benchmarks.planted.levels import fourteen, space
from chaosagent.searchers.exact import exact
from chaosagent.study.searcher import Purpose
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive
from chaosagent.vocabulary import Outcome, Task
from tests.lab.soundness.forgetful import HIDING_PLACES, Forgetful, search

WRONG_SEED = 3
"""Of an agent that without chains is proved to be safe, as its undeclared fact comes before the other one."""


@pytest.mark.slow
@pytest.mark.parametrize("place", HIDING_PLACES)
def test_an_undeclared_fact_is_found_wherever_the_target_keeps_it(place: str) -> None:
    found = search(Forgetful(WRONG_SEED, 2, place), "exact")

    assert found.is_caught


@pytest.mark.slow
@pytest.mark.parametrize("searcher", ["exact", "anytime"])
@pytest.mark.parametrize("seed", range(6))
def test_no_proof_is_wrong_where_three_faults_are_needed_to_show_the_undeclared_fact(seed: int, searcher: str) -> None:
    assert not search(Forgetful(seed, 3, HIDING_PLACES[seed % len(HIDING_PLACES)]), searcher).is_wrong


@pytest.mark.slow
def test_chains_find_it_even_if_no_variable_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "survey_of", lambda _: None)

    assert search(Forgetful(2, 3, "local"), "anytime").is_caught


def test_complete_checkpoints_contradict_nothing() -> None:
    found = search(Forgetful(WRONG_SEED, 2, "local", leaves_out=False), "exact")

    assert not found.is_caught
    assert not found.is_wrong


def test_the_undeclared_variable_is_named_with_its_checkpoint() -> None:
    case = Forgetful(WRONG_SEED, 2, "local")
    bench = Bench(case.target(), [parse_contract("objective")], space(*fourteen()))
    searcher = exact(bench.problem("objective", case.budget))
    drive(searcher, bench.run)
    for proposal in searcher.audit(16):
        searcher.tell(bench.run(proposal.schedule))

    assert searcher.progress.contradictions == 1
    assert searcher.progress.undeclared == ("in_local in agent (checkpoint 's2')",)


def test_a_difference_alone_disables_no_rule() -> None:
    case = Forgetful(WRONG_SEED, 2, "local")
    bench = Bench(case.target(), [parse_contract("objective")], space(*fourteen()))
    searcher = exact(bench.problem("objective", case.budget))
    drive(searcher, bench.run)

    chains = [proposal for proposal in searcher.audit(16) if proposal.purpose is Purpose.PROBE]

    assert searcher.progress.undeclared
    assert searcher.rules["R3"]
    assert chains


def counting() -> Target:
    """Return an agent with a local variable that depends on how many runs there were, and on no fault."""
    runs: list[None] = []

    @target(name="counting", tasks=[Task("t")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        runs.append(None)
        number_of_run = len(runs)
        shop = run.service("shop", {"look": lambda: [1, 2], "buy": lambda: [3, 4]}, read_only=True)
        looked = bought = None
        with contextlib.suppress(Exception):
            looked = await shop("look")
        run.checkpoint("looked", str(looked))
        with contextlib.suppress(Exception):
            bought = await shop("buy")
        run.checkpoint("bought", str(bought))
        return Outcome("done" if number_of_run else "never", success=True)

    return agent


def test_variables_that_differ_between_runs_with_the_same_faults_make_none_suspicious() -> None:
    bench = Bench(counting(), [parse_contract("objective")], space(*fourteen()))
    searcher = exact(bench.problem("objective", 2.6))
    drive(searcher, bench.run)  # pairs of faults of which the second has not acted yet at the first checkpoint

    assert all(proposal.schedule for proposal in searcher.audit(16))
