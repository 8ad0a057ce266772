"""The declared space: which operators may act where, and what they cost."""

from __future__ import annotations

import pytest

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.faults.operator import OPERATORS, CostModel, Operator
from chaosagent.faults.space import Choices, Space
from chaosagent.operators.service.delay import Delay
from chaosagent.operators.service.timeout import Timeout
from chaosagent.vocabulary import Boundary

AT_PAYMENTS = (Boundary.SERVICE, "service:payments", "desk")


def test_without_choices_every_operator_that_is_searched_by_default_may_act_at_its_boundary() -> None:
    space = Space()

    for boundary in Boundary:
        names = {priced.operator.name for priced in space.at(boundary, f"{boundary.value}:x", "planner")}
        known = [OPERATORS.get(name) for name in OPERATORS]
        fitting = {kind for kind in known if boundary in kind.boundaries and getattr(kind, "by_default", True)}
        assert names == {kind.name for kind in fitting}
        assert names


def test_operators_come_cheapest_first() -> None:
    costs = [priced.cost for priced in Space().at(Boundary.SERVICE, "service:crm", "")]

    assert costs == sorted(costs)
    assert Space().cost_min <= costs[0]


def test_chosen_values_take_the_place_of_levels() -> None:
    space = Space([Choices("service.delay", {"seconds": (7.0, 9)}), Choices("service.timeout", {"seconds": (10.0,)})])

    operators = {priced.operator for priced in space.at(Boundary.SERVICE, "service:crm", "")}

    expected: set[Operator] = {Delay(7.0), Delay(9.0), Timeout("before", 10.0), Timeout("after", 10.0)}
    assert operators == expected


def test_choices_hold_for_interfaces_and_agents_that_match() -> None:
    space = Space(
        [Choices("service.delay", {}, interfaces=("service:c*",)), Choices("service.timeout", {}, agents=("plan*",))]
    )

    def names(interface: str, agent: str) -> set[str]:
        return {priced.operator.name for priced in space.at(Boundary.SERVICE, interface, agent)}

    assert names("service:crm", "planner") == {"service.delay", "service.timeout"}
    assert names("service:crm", "action") == {"service.delay"}
    assert names("service:mail", "planner") == {"service.timeout"}
    assert names("service:mail", "") == set()


def test_the_weights_of_the_cost_decide_what_is_cheapest() -> None:
    choices = [Choices("service.delay", {"seconds": (60.0,)})]

    assert Space(choices).cost_min == 1.05
    assert Space(choices, CostModel(c_hook=0.0, c_mag=2.0)).cost_min == 1.0


@pytest.mark.parametrize(
    ("choices", "reads"),
    [([Choices("service.delay", {})], False), ([Choices("service.stale_response", {})], True), ([], True)],
)
def test_a_space_knows_whether_an_operator_reads_history(choices: list[Choices], reads: bool) -> None:
    assert Space(choices).reads_history is reads


def test_the_digest_tells_spaces_apart() -> None:
    digests = [
        Space(choices, model).digest
        for choices, model in (
            ([], None),
            ([Choices("service.delay", {})], None),
            ([Choices("service.delay", {"seconds": (1.0,)})], None),
            ([Choices("service.delay", {}, interfaces=("service:crm",))], None),
            ([Choices("service.delay", {})], CostModel(c_hook=2.0)),
        )
    ]

    assert len(set(digests)) == len(digests)
    assert Space().digest == digests[0]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (Choices("service.delay", {"seconds": (0.0,)}), r"service.delay\(seconds=0.0\): seconds must be"),
        (Choices("service.delay", {"minutes": (1,)}), r"service.delay\(minutes=...\): unknown parameter"),
    ],
)
def test_a_space_refuses_values_out_of_bounds(choices: Choices, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Space([choices])


def test_a_space_refuses_an_unknown_operator() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown operator 'service.delai'. Did you mean 'service.delay'"):
        Space([Choices("service.delai", {})])


def test_of_equally_dear_operators_those_declared_first_come_first() -> None:
    declared = ("service.timeout", "service.error_status", "service.lost_response")

    names = [priced.operator.name for priced in Space([Choices(name, {}) for name in declared]).at(*AT_PAYMENTS)]
    back = [priced.operator.name for priced in Space([Choices(name, {}) for name in declared[::-1]]).at(*AT_PAYMENTS)]

    assert list(dict.fromkeys(names)) == list(declared)
    assert list(dict.fromkeys(back)) == list(declared[::-1])


def test_an_error_that_a_service_gives_although_it_acted_is_tried_in_the_order_of_likelihood() -> None:
    space = Space([Choices("service.error_status", {})])

    tried = [getattr(priced.operator, "status", 0) for priced in space.at(*AT_PAYMENTS)]

    assert list(dict.fromkeys(tried)) == [503, 429, 404]


def test_what_is_declared_twice_is_tried_once() -> None:
    twice = Space([Choices("service.timeout", {}), Choices("service.timeout", {})])

    assert len(twice.at(*AT_PAYMENTS)) == len(Space([Choices("service.timeout", {})]).at(*AT_PAYMENTS))


def test_a_named_operator_is_idle_until_something_is_asked_for_that_can_take_it() -> None:
    space = Space([Choices("tools.missing", {}, named=True), Choices("model.refusal", {})])

    told = [space.idle]  # nothing was asked for at all, which is told apart
    for place in (AT_PAYMENTS, (Boundary.TOOLS, "tools:desk", "desk")):
        space.at(*place)
        told.append(space.idle)

    assert told == [(), ("tools.missing: no tools",), ()]


def test_an_operator_that_is_named_at_interfaces_of_another_boundary_is_idle() -> None:
    space = Space([Choices("tools.missing", {}, interfaces=("service:*", "tools:mail"), named=True)])

    space.at(*AT_PAYMENTS)
    space.at(Boundary.TOOLS, "tools:desk", "desk")

    assert space.idle == ("tools.missing: no tools",)
    assert space.unmatched == ("tools.missing: interfaces 'tools:mail'",)
