"""Domains of parameters, binding, lattices."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.faults.crossing import Crossing, Proceed, Request, Response
from chaosagent.faults.operator import (
    OPERATORS,
    Choice,
    CostModel,
    Domain,
    Levels,
    Operator,
    OperatorDefaults,
    ParameterValue,
    Text,
    bind,
    lattice,
    parameter,
    parameters_of,
    searched_by_default,
)
from chaosagent.operators.service.timeout import Timeout
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.testing.strategies import operators
from chaosagent.vocabulary import Boundary


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


@dataclass(frozen=True, slots=True)
class Half(OperatorDefaults):
    """Answers with half a text.

    Attributes:
        end: Which end is lost.
        share: How much of it.
    """

    name = "service.half"
    description = "{share:.0%} of the {end} {{is}} missing"

    end: str = parameter("end", Choice("end", "start"))
    share: float = parameter(0.5, Levels(0.25, 0.5, limits=(0.0, 1.0)))


def test_what_an_operator_leaves_out_takes_its_default() -> None:
    half = Half()

    assert (half.magnitude, half.tokens, half.by_default, half.reads_history, half.monotone) == (
        1.0,
        0,
        True,
        False,
        None,
    )
    assert half.boundaries == {Boundary.SERVICE}
    assert Half(share=0.25, end="{share}").describe() == "25% of the {share} {is} missing"


def test_a_field_declares_its_domain() -> None:
    assert list(Half.parameters) == ["end", "share"]
    assert Half.parameters["share"].levels == (0.25, 0.5)
    assert (Half().end, Half().share) == ("end", 0.5)


def test_defaults_leave_an_operator_a_plain_frozen_dataclass() -> None:
    half = Half("start")

    assert pickle.loads(pickle.dumps(half)) == half == Half("start", 0.5) != Half()
    assert len({half, Half("start"), Half()}) == 2
    assert not hasattr(half, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError, match="share"):
        half.share = 1.0  # type: ignore[misc]  # the point


def test_an_operator_overrides_a_default_by_a_variable_or_a_property() -> None:
    @dataclass(frozen=True, slots=True)
    class Words(Half):
        boundaries = frozenset({Boundary.PROMPT, Boundary.MODEL})
        magnitude = 0.25

        words: int = parameter(1, Levels(1, 2, limits=(1, 9)))

        @property
        def tokens(self) -> int:
            return self.words

    assert list(Words.parameters) == ["end", "share", "words"]
    assert Words.boundaries == {Boundary.PROMPT, Boundary.MODEL}
    assert (Words().magnitude, Words(words=2).tokens) == (0.25, 2)
    assert list(Half.parameters) == ["end", "share"]


def test_an_operator_of_another_package_says_where_it_acts() -> None:
    with pytest.raises(UsageError, match=r"operator 'example/half': the name begins with no boundary \(prompt, "):

        class Elsewhere(OperatorDefaults):
            name = "example/half"


class Shouting:
    """Answers in capitals; written without `OperatorDefaults`, as the protocol allows."""

    name: ClassVar[str] = "example/shouting"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    magnitude: ClassVar[float] = 0.5
    tokens: ClassVar[int] = 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=str(response.value).upper())

    def describe(self) -> str:
        return "answers in capitals"


def test_an_operator_need_not_inherit_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OPERATORS, "_entries", {Shouting.name: Shouting})
    crossing = FakeCrossing(Sample(Boundary.SERVICE, Request("get", {}), Response("paid")))

    assert searched_by_default() == [Shouting.name]
    assert play(next(lattice(Shouting)), crossing) == Response("PAID")
    assert CostModel().of(Shouting()) == 1.05
