"""Domains of parameters, binding, lattices."""

from __future__ import annotations

import pytest
from hypothesis import given

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.faults.operator import (
    OPERATORS,
    Choice,
    Domain,
    Levels,
    Operator,
    ParameterValue,
    Text,
    bind,
    lattice,
    parameters_of,
    searched_by_default,
)
from chaosagent.operators.service.timeout import Timeout
from chaosagent.testing.strategies import operators


@pytest.mark.parametrize(
    ("domain", "value", "message"),
    [
        (Levels(1.0, limits=(0.5, 2.0)), 2.1, "must be a number from 0.5 to 2"),
        (Levels(1.0, limits=(0.5, 2.0)), "1", "must be a number from 0.5 to 2"),
        (Levels(1.0, limits=(0.5, 2.0)), True, "must be a number from 0.5 to 2"),
        (Levels(1.0, limits=(0.5, 2.0)), float("nan"), "must be a number from 0.5 to 2"),
        (Levels(1, limits=(0, 9)), 1.5, "must be a whole number"),
        (Choice("a", "b"), "c", "must be one of a, b"),
        (Text("x", characters_max=3), "long", "must be a text of at most 3 characters"),
        (Text("x", characters_max=3), 5, "must be a text of at most 3 characters"),
    ],
)
def test_a_domain_refuses_what_lies_outside(domain: Domain, value: ParameterValue, message: str) -> None:
    with pytest.raises(UsageError, match=rf"service.x\(p=.*: p {message}"):
        domain.check("service.x", "p", value)


@pytest.mark.parametrize(
    ("domain", "value", "checked"),
    [
        (Levels(1.0, limits=(0.5, 2.0)), 1, 1.0),
        (Levels(1, limits=(0, 9)), 9.0, 9),
        (Choice("a", "b"), "b", "b"),
        (Text("x", characters_max=3), "", ""),
    ],
)
def test_a_domain_gives_equal_values_one_type(domain: Domain, value: ParameterValue, checked: ParameterValue) -> None:
    result = domain.check("service.x", "p", value)

    assert (type(result), result) == (type(checked), checked)


def test_bind_fills_in_defaults_and_refuses_what_it_does_not_know() -> None:
    assert bind("service.timeout", (("when", "after"),)) == Timeout("after", 30.0)
    with pytest.raises(UsageError, match=r"service.timeout\(who=...\): unknown parameter. .* has: when, seconds"):
        bind("service.timeout", (("who", "me"),))
    with pytest.raises(UnknownNameError, match=r"unknown operator 'service.timeot'. Did you mean 'service.timeout'"):
        bind("service.timeot", ())


@given(operators())
def test_an_operator_is_bound_again_from_its_parameters(operator: Operator) -> None:
    assert bind(operator.name, parameters_of(operator)) == operator


@pytest.mark.parametrize("name", list(OPERATORS))
def test_a_lattice_has_at_most_six_points_and_twelve_where_somebody_asked_for_it(name: str) -> None:
    points = list(lattice(OPERATORS.get(name)))

    assert 1 <= len(points) <= (6 if name in searched_by_default() else 12)
    assert len(set(points)) == len(points)
