"""The audit of rule R3 runs small combinations of suspicious faults exactly, and finds what chains overshoot."""

from __future__ import annotations

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.searchers.exact import exact
from chaosagent.searchers.proof.audit import FURTHER_TIMES
from chaosagent.searchers.proof.combinations import Combinations
from chaosagent.searchers.seen.states import States
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import drive
from tests.lab.soundness.particular import AUDIT, CONTRACT, HIDING_PLACES, Particular, search


@pytest.mark.parametrize("searcher", ["exact", "anytime"])
@pytest.mark.parametrize("place", HIDING_PLACES)
@pytest.mark.parametrize(("size", "pays"), [(2, False), (3, False), (2, True)])
def test_an_agent_that_minds_exactly_certain_faults_is_never_proved_safe(
    searcher: str, place: str, size: int, *, pays: bool
) -> None:
    cases = [Particular(seed, size, place, needs_failed_payment=pays) for seed in (0, 1, 3)]

    assert not [case for case in cases if search(case, searcher).is_wrong]


@pytest.mark.parametrize("searcher", ["exact", "anytime"])
def test_complete_checkpoints_cost_no_further_runs(searcher: str) -> None:
    case = Particular(1, 2, leaves_out=False)
    bench = Bench(case.target(), [parse_contract(CONTRACT)], case.space())
    made = exact(bench.problem(CONTRACT, case.budget))
    drive(made, bench.run)
    for proposal in made.audit(AUDIT):
        made.tell(bench.run(proposal.schedule))

    assert not made.progress.undeclared
    assert made.audit_further() == []
    assert not search(case, searcher).is_caught


def test_further_runs_are_limited_to_so_many_times_the_audit() -> None:
    case = Particular(0, 3)
    bench = Bench(case.target(), [parse_contract(CONTRACT)], case.space())
    made = exact(bench.problem(CONTRACT, case.budget))
    drive(made, bench.run)
    made.audit(1)

    found = [proposal.schedule for _ in range(20) for proposal in made.audit_further()]

    assert len(found) == FURTHER_TIMES


def test_a_rule_that_is_given_up_prunes_nothing_and_what_it_had_pruned_is_searched() -> None:
    case = Particular(0, 2)
    bench = Bench(case.target(), [parse_contract(CONTRACT)], case.space())
    made = exact(bench.problem(CONTRACT, case.budget))
    drive(made, bench.run)
    assert made.progress.level == "C2"

    assert made.give_up("R3")
    assert not made.give_up("R3")
    drive(made, bench.run)

    assert made.progress.level == "C1"
    assert made.progress.lower_bound == pytest.approx(2.2)
    assert made.progress.contradictions == 0


def combined(*faults: str, cost_max: float = 10.0) -> list[Schedule]:
    model = CostModel()
    made = Combinations(States(0, model, 0), model)
    told = TrialLog()
    injections = [injection for fault in faults for injection in parse(fault)]
    return list(made.of(injections, told, cost_max=cost_max))


def test_at_most_one_fault_acts_at_a_place_and_each_combination_comes_once() -> None:
    found = combined(
        "service:a[1] service.lost_response(when=before)",
        "service:a[1] service.error_status(status=503, when=before)",
        "service:b[1] service.lost_response(when=before)",
    )

    assert len(found) == len(set(found)) == 5
    assert EMPTY not in found


def test_combinations_cost_no_more_than_is_affordable() -> None:
    faults = [f"service:a[{number}] service.lost_response(when=before)" for number in range(1, 6)]

    sizes = {len(schedule) for schedule in combined(*faults, cost_max=2.2)}

    assert sizes == {1, 2}
