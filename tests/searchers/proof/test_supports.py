"""What passing outcomes were derived from, and what it costs at least to touch all of that."""

from __future__ import annotations

import pytest

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.proof.lineage import Supports
from tests.lab.targets.derivations import Derivations

MODEL = CostModel(c_mag=1.0)
# The calls of the first derivation go to s0 and s1, and so do those of the second.
TWO_WAYS = Derivations(4, ((0, 1), (2, 3)), False, 1, False, MODEL, 1)
LOST = Choices("service.lost_response", {"when": ("before",)}, interfaces=("service:s0",))
LATE = Choices("service.delay", {"seconds": (5.0,)}, interfaces=("service:s1",))
FIRST_LOST = parse("service:s0[1] service.lost_response(when=before)")


def supports_of(*choices: Choices) -> Supports:
    return Supports(Space(choices, MODEL))


def run(schedule: str = "") -> Evaluation:
    return TWO_WAYS.bench().run(parse(schedule))


def cost_of(choices: Choices) -> float:
    return Space([choices], MODEL).cost_min


def test_a_support_costs_what_the_cheapest_injection_into_one_of_its_calls_costs() -> None:
    assert cost_of(LATE) != cost_of(LOST)
    for choices in ((LOST, LATE), (LATE, LOST)):
        supports = supports_of(*choices)
        support = supports.add(run())

        assert support is not None
        assert len(support.calls) == 2
        assert support.cost == supports.cost_to_hit(EMPTY) == min(cost_of(LATE), cost_of(LOST))


def test_what_no_injection_reaches_cannot_be_touched_at_any_cost() -> None:
    supports = supports_of(Choices("service.delay", {"seconds": (5.0,)}, interfaces=("service:other",)))
    supports.add(run())

    assert supports.cost_to_hit(EMPTY) == float("inf")


def test_supports_without_a_call_in_common_cost_an_injection_each() -> None:
    supports = supports_of(LOST, LATE)
    once = min(cost_of(LATE), cost_of(LOST))

    supports.add(run())
    supports.add(run(str(FIRST_LOST)))

    assert supports.cost_to_hit(FIRST_LOST) == once
    assert supports.cost_to_hit(EMPTY) == pytest.approx(2 * once)
    kept = supports.kept_by(FIRST_LOST)
    assert kept is not None
    assert kept.schedule == FIRST_LOST
    both = FIRST_LOST.with_injection(next(iter(parse("service:s0[2] service.lost_response(when=before)"))))
    assert supports.kept_by(both) is None
    assert supports.cost_to_hit(both) == 0.0


def test_supports_with_a_call_in_common_cost_one_injection() -> None:
    supports = supports_of(LOST, LATE)
    bench = TWO_WAYS._replace(derivations=((0, 1), (1, 2))).bench()

    for schedule in (EMPTY, FIRST_LOST):
        assert supports.add(bench.run(schedule)) is not None

    assert supports.cost_to_hit(EMPTY) == min(cost_of(LATE), cost_of(LOST))


def test_a_support_is_added_once_and_none_where_the_run_has_none() -> None:
    supports = supports_of(LOST, LATE)

    assert supports.add(run()) is not None
    assert supports.add(run()) is None
    assert supports.add(run("service:s0[1] service.lost_response; service:s0[2] service.lost_response")) is None
