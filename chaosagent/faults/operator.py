"""Operators: families of bounded perturbations and faults with declared parameters and cost.

An operator is a small frozen dataclass. Its fields are its parameters, each with a default and a domain; `apply` is
middleware around a crossing:

    @dataclass(frozen=True, slots=True)
    class Delay(OperatorDefaults):
        name = "service.delay"
        description = "the answer arrives {seconds:g} s late"

        seconds: float = parameter(5.0, Levels(5.0, 60.0, limits=(0.001, 86_400.0)))
        ...
        async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
            response = await proceed(crossing.request)
            await crossing.sleep(self.seconds)
            return response

`OperatorDefaults` supplies what most operators have in common. A class that has all that the protocol `Operator` lists
need not inherit from it.

An operator is pure given crossing, request, response and the crossing's random stream, so `faults.dry` can apply it to
a recorded crossing without a run. That also shows when it begins to act, so an operator declares nothing about that;
but it must act through its crossing alone. A run refuses an operator that

* waits for anything but `proceed`, `crossing.sleep` and `crossing.disturbed`, such as a timer of its own;
* calls its crossing from another task;
* does something for the first time because the agent gives the call up.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from chaosagent.errors import UsageError
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.registry import Registry
from chaosagent.vocabulary import Boundary

ParameterValue: TypeAlias = "bool | int | float | str"
Value = TypeVar("Value", bound=ParameterValue)


class Domain(Protocol):
    """The values that a parameter may take, and the lattice on which they are searched."""

    @property
    def levels(self) -> tuple[ParameterValue, ...]:
        """The values that a search tries, weakest first."""
        ...

    def check(self, operator: str, parameter: str, value: ParameterValue) -> ParameterValue:
        """Return the value, an integer as a float where the domain is one of floats.

        Raises:
            UsageError: The value lies outside.
        """
        ...

    def describe(self) -> str:
        """Say in a few words what is allowed."""
        ...


class Levels:
    """Numbers within limits, searched on a few levels.

    Args:
        levels: Searched values, weakest first, and of equally strong ones the likeliest.
        limits: Least and greatest allowed value, both inclusive.
    """

    def __init__(self, *levels: float, limits: tuple[float, float]) -> None:
        self.levels: tuple[ParameterValue, ...] = levels
        self.limits = limits

    def check(self, operator: str, parameter: str, value: ParameterValue) -> ParameterValue:
        low, high = self.limits
        if isinstance(value, bool | str) or not low <= value <= high:
            raise UsageError(f"{operator}({parameter}={value!r}): {parameter} must be {self.describe()}.")
        if all(isinstance(level, int) for level in self.levels):
            if value != int(value):
                raise UsageError(f"{operator}({parameter}={value!r}): {parameter} must be a whole number.")
            return int(value)
        return float(value)

    def describe(self) -> str:
        return f"a number from {self.limits[0]:g} to {self.limits[1]:g}"


class Choice:
    """One of a few words.

    Args:
        levels: The words, weakest first; all of them are searched.
    """

    def __init__(self, *levels: str) -> None:
        self.levels: tuple[ParameterValue, ...] = levels

    def check(self, operator: str, parameter: str, value: ParameterValue) -> ParameterValue:
        if value not in self.levels:
            raise UsageError(f"{operator}({parameter}={value!r}): {parameter} must be {self.describe()}.")
        return value

    def describe(self) -> str:
        return "one of " + ", ".join(str(level) for level in self.levels)


class Text:
    """A text of bounded length.

    Args:
        levels: The texts that are searched.
        characters_max: The longest text allowed.
    """

    def __init__(self, *levels: str, characters_max: int) -> None:
        self.levels: tuple[ParameterValue, ...] = levels
        self.characters_max = characters_max

    def check(self, operator: str, parameter: str, value: ParameterValue) -> ParameterValue:
        if not isinstance(value, str) or len(value) > self.characters_max:
            raise UsageError(f"{operator}({parameter}={value!r:.60}): {parameter} must be {self.describe()}.")
        return value

    def describe(self) -> str:
        return f"a text of at most {self.characters_max} characters"


@runtime_checkable
class Operator(Protocol):
    """One operator with its parameters. `OperatorDefaults` has a default for most of it.

    Attributes:
        name: `boundary.word`, such as `"service.delay"`; `package/name` for plug-ins.
        boundaries: Where it can act.
        parameters: The domain of each field, in the order of the fields.

    An operator that looks at `crossing.history` or `crossing.earlier()` also has
    `reads_history: ClassVar[bool] = True`.

    One that is searched only where a study names it has `by_default: ClassVar[bool] = False`.

    One of which a stronger level can be expected never to break less names the parameter in `monotone: ClassVar[str]`;
    its levels are then ordered by magnitude. A search relies on it only where a study says so.
    """

    name: ClassVar[str]
    boundaries: ClassVar[frozenset[Boundary]]
    parameters: ClassVar[Mapping[str, Domain]]

    @property
    def magnitude(self) -> float:
        """The η of Eq. 8 in (0, 1]: how strong the perturbation is within its bounds; weaker is never greater."""
        ...

    @property
    def tokens(self) -> int:
        """The |Δtokens| of Eq. 8: tokens of text it adds, removes or changes at most; 0 for faults."""
        ...

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Act on one crossing; `proceed` hands a request to the world."""
        ...

    def describe(self) -> str:
        """Say in one line what it does, for people."""
        ...


class OperatorDefaults:
    """What most operators have in common; a subclass overrides what is different.

    A subclass gives `name`, `apply`, and `description` or `describe`. What is constant is a class variable, and needs
    no annotation: `magnitude = 0.5`. What depends on parameters is a property.

    Attributes:
        name: As in `Operator`.
        boundaries: The boundary with which the name begins, if the class gives none.
        parameters: Made from the fields that are declared with `parameter`.
        description: What `describe` says. The values of parameters stand in braces, as `str.format` has them.
        reads_history: As in `Operator`: it does not.
        by_default: As in `Operator`: it is searched.
        monotone: As in `Operator`: no parameter.
    """

    __slots__ = ()

    name: ClassVar[str]
    boundaries: ClassVar[frozenset[Boundary]]
    parameters: ClassVar[Mapping[str, Domain]] = {}
    description: ClassVar[str] = ""
    reads_history: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    monotone: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: object) -> None:
        """Fill in the parameters and the boundary; runs a second time if a dataclass with slots copies the class."""
        super().__init_subclass__(**options)
        domains = {name: value.metadata[_DOMAIN] for name, value in vars(cls).items() if _is_parameter(value)}
        cls.parameters = {**cls.parameters, **domains}
        if hasattr(cls, "name") and not hasattr(cls, "boundaries"):
            cls.boundaries = frozenset({_boundary_of(cls.name)})

    @property
    def magnitude(self) -> float:
        """One: as strong as can be."""
        return 1.0

    @property
    def tokens(self) -> int:
        """None: a fault, not a change of a text."""
        return 0

    def describe(self) -> str:
        """Return `description` with the values of the parameters."""
        return self.description.format(**{name: getattr(self, name) for name in self.parameters})


def parameter(default: Value, domain: Domain) -> Value:
    """Declare a parameter of an operator: the default and the domain of a dataclass field.

    It only works in a subclass of `OperatorDefaults`; other operators list their domains in `parameters`.
    """
    # The field takes the place of a default value, as `dataclasses.field` itself does.
    return dataclasses.field(default=default, metadata={_DOMAIN: domain})


_DOMAIN = "domain"


def _is_parameter(value: object) -> bool:
    return isinstance(value, dataclasses.Field) and _DOMAIN in value.metadata


def _boundary_of(name: str) -> Boundary:
    """Return the boundary with which the name of an operator begins."""
    try:
        return Boundary(name.partition(".")[0])
    except ValueError:
        known = ", ".join(boundary.value for boundary in Boundary)
        raise UsageError(
            f"operator {name!r}: the name begins with no boundary ({known}), and the class does not say where it acts. "
            "Write `boundaries = frozenset({Boundary.SERVICE})`, for example, in the class."
        ) from None


OPERATORS: Registry[type[Operator]] = Registry("operator", "chaosagent.operators", "chaosagent.operators")


def searched_by_default() -> list[str]:
    """Return the names of the operators that are searched where a study names none."""
    return [name for name in OPERATORS if getattr(OPERATORS.get(name), "by_default", True)]


def bind(name: str, values: tuple[tuple[str, ParameterValue], ...]) -> Operator:
    """Return an operator with its parameters; those not given take their defaults.

    Raises:
        UsageError: The operator is unknown, or a parameter is unknown or out of bounds.
    """
    return bound(name, values, tuple(type(value) for _, value in values))


@functools.lru_cache(maxsize=4096)
def bound(name: str, values: tuple[tuple[str, ParameterValue], ...], types: tuple[type, ...]) -> Operator:
    """Return an operator with its parameters, as `bind` does; made once."""
    del types  # they keep true apart from 1 and 1.0 in the cache
    kind = OPERATORS.get(name)
    checked = {}
    for parameter, value in values:
        if parameter not in kind.parameters:
            known = ", ".join(kind.parameters) or "none"
            raise UsageError(f"{name}({parameter}=...): unknown parameter. {name} has: {known}.")
        checked[parameter] = kind.parameters[parameter].check(name, parameter, value)
    return kind(**checked)


def parameters_of(operator: Operator) -> tuple[tuple[str, ParameterValue], ...]:
    """Return the parameters of an operator as sorted pairs."""
    return tuple((name, getattr(operator, name)) for name in sorted(operator.parameters))


def lattice(kind: type[Operator]) -> Iterator[Operator]:
    """Yield an operator at every combination of its parameters' levels."""
    names = list(kind.parameters)
    for values in itertools.product(*(kind.parameters[name].levels for name in names)):
        yield kind(**dict(zip(names, values, strict=True)))


@dataclass(frozen=True, slots=True)
class CostModel:
    """The weights of Eq. 8: cost = c_tokens · |Δtokens| + c_hook · hooks + c_mag · η, summed over injections."""

    c_tokens: float = 0.01
    c_hook: float = 1.0
    c_mag: float = 0.1

    def of(self, operator: Operator) -> float:
        """Return what one landed injection of an operator costs; rounded, so that equal sums are equal."""
        return round(self.c_tokens * operator.tokens + self.c_hook + self.c_mag * operator.magnitude, COST_DECIMALS)


COST_DECIMALS = 6

COST_TOLERANCE: float = 10**-COST_DECIMALS / 2
"""Costs that differ by less are equal: they are rounded, while budgets and what is left of them are not."""
