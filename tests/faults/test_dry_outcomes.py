"""The cache of dry applications: whatever was asked before, it tells what a fresh application would."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from chaosagent.faults.crossing import Crossing, Proceed, Request, Response
from chaosagent.faults.dry import RecordedCrossing, RecordedHistory, apply_dry
from chaosagent.faults.dry_outcomes import DryOutcomes
from chaosagent.faults.operator import OPERATORS, OperatorDefaults
from chaosagent.faults.space import Choices
from chaosagent.testing.crossings import Sample
from chaosagent.vocabulary import Boundary

CROSSING = Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response("paid")).recorded()[-1]
LATER = CROSSING._replace(asked_at=CROSSING.asked_at + 1.0, answered_at=CROSSING.answered_at + 1.0)
SLOWER = CROSSING._replace(answered_at=CROSSING.answered_at + 1.0)
BEHIND_ANOTHER = CROSSING._replace(asked=CROSSING.asked + 10, answered=CROSSING.answered + 10)
OTHER_ANSWER = Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response("open")).recorded()[-1]

ASKED = (
    (CROSSING, (CROSSING,)),
    (LATER, (LATER,)),
    (SLOWER, (SLOWER,)),
    (BEHIND_ANOTHER, (BEHIND_ANOTHER,)),
    (BEHIND_ANOTHER, (OTHER_ANSWER, BEHIND_ANOTHER)),
)


@dataclass(frozen=True, slots=True)
class Drawing(OperatorDefaults):
    """Answers with a random number, as no built-in operator does there."""

    name = "service.drawing"
    description = "answers with a random number"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        del proceed
        return Response(crossing.rng.random())


OPERATORS_THERE = [
    Drawing(),
    *(
        operator
        for name in OPERATORS
        if Boundary.SERVICE in OPERATORS.get(name).boundaries
        for operator in Choices(name, {}).operators()
    ),
]


@pytest.mark.parametrize("history_matters", [False, True])
@pytest.mark.parametrize("asked", [ASKED, ASKED[::-1]], ids=["forwards", "backwards"])
def test_what_is_cached_equals_a_fresh_application(
    asked: tuple[tuple[RecordedCrossing, tuple[RecordedCrossing, ...]], ...], *, history_matters: bool
) -> None:
    outcomes = DryOutcomes(history_matters=history_matters)

    for operator, (crossing, crossings), seed in product(OPERATORS_THERE, asked, range(3)):
        cached = outcomes.at(crossing, RecordedHistory(crossings), seed)(operator)

        assert cached == apply_dry(operator, crossing, crossings, seed, history_matters=history_matters)
