"""The cache of dry applications: whatever was asked before, it tells what a fresh application would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.dry import RecordedCrossing, RecordedHistory, apply_dry
from chaosagent.faults.dry_outcomes import DryOutcomes
from chaosagent.faults.operator import Operator
from chaosagent.testing.crossings import Sample
from chaosagent.testing.strategies import operators
from chaosagent.vocabulary import Boundary

CROSSING = Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response("paid")).recorded()[-1]
LATER = CROSSING._replace(asked_at=CROSSING.asked_at + 1.0, answered_at=CROSSING.answered_at + 1.0)
SLOWER = CROSSING._replace(answered_at=CROSSING.answered_at + 1.0)
BEHIND_ANOTHER = CROSSING._replace(asked=CROSSING.asked + 10, answered=CROSSING.answered + 10)
OTHER_ANSWER = Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response("open")).recorded()[-1]

ASKED = st.sampled_from(
    [
        (CROSSING, (CROSSING,)),
        (LATER, (LATER,)),
        (SLOWER, (SLOWER,)),
        (BEHIND_ANOTHER, (BEHIND_ANOTHER,)),
        (BEHIND_ANOTHER, (OTHER_ANSWER, BEHIND_ANOTHER)),
    ]
)


@given(
    asked=st.lists(st.tuples(operators(Boundary.SERVICE), ASKED, st.integers(0, 2)), max_size=20),
    history_matters=st.booleans(),
)
def test_what_is_cached_equals_a_fresh_application(
    asked: list[tuple[Operator, tuple[RecordedCrossing, tuple[RecordedCrossing, ...]], int]], *, history_matters: bool
) -> None:
    outcomes = DryOutcomes(history_matters=history_matters)

    for operator, (crossing, crossings), seed in asked:
        cached = outcomes.at(crossing, RecordedHistory(crossings), seed)(operator)

        assert cached == apply_dry(operator, crossing, crossings, seed, history_matters=history_matters)
