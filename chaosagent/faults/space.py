"""The space of schedules that a study declares: boundaries × operators × parameter lattices.

Hooks are not declared but discovered: every executed run shows the places at which an injection could act.
"""

from __future__ import annotations

import difflib
import fnmatch
import functools
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

from chaosagent.canonical import digest_of
from chaosagent.faults.dry_outcomes import DryOutcomes
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.operator import (
    OPERATORS,
    CostModel,
    Operator,
    ParameterValue,
    bind,
    lattice,
    parameters_of,
    searched_by_default,
)
from chaosagent.vocabulary import Boundary

T = TypeVar("T")

NAMES_MAX = 20
"""So many known names are listed beside a pattern that matches none of them."""


class Priced(NamedTuple):
    """An operator of the space and what it costs when it lands."""

    cost: float
    operator: Operator


@dataclass(frozen=True, slots=True)
class Choices:
    """One operator of a space, with the values that are searched.

    Attributes:
        operator: Its name.
        values: The levels of some parameters; the others take the operator's own levels.
        interfaces: Glob patterns of the interfaces on which it may act.
        agents: Glob patterns of the agents whose calls it may disturb.
        named: Whether somebody asked for this very operator, not for all of a pattern.
        where: File and line of the entry; empty where the space was declared in code.
    """

    operator: str
    values: Mapping[str, tuple[ParameterValue, ...]]
    interfaces: tuple[str, ...] = ("*",)
    agents: tuple[str, ...] = ("*",)
    named: bool = False
    where: str = ""

    def operators(self) -> tuple[Operator, ...]:
        """Return the operator at each combination of its levels.

        Raises:
            UsageError: The operator, a parameter or a value is not allowed.
        """
        kind = OPERATORS.get(self.operator)
        for parameter, values in self.values.items():
            for value in values:
                bind(self.operator, ((parameter, value),))
        found = []
        for operator in lattice(kind):
            free = tuple(pair for pair in parameters_of(operator) if pair[0] not in self.values)
            found.append(free)
        return tuple(
            bind(self.operator, (*free, *fixed)) for free in dict.fromkeys(found) for fixed in _products(self.values)
        )


def _products(values: Mapping[str, tuple[ParameterValue, ...]]) -> Iterable[tuple[tuple[str, ParameterValue], ...]]:
    combinations: list[tuple[tuple[str, ParameterValue], ...]] = [()]
    for parameter in sorted(values):
        combinations = [(*before, (parameter, value)) for before in combinations for value in values[parameter]]
    return combinations


class _Injections(dict[Operator, Injection]):
    """The injections at a hook, made when they are asked for."""

    def __init__(self, hook: Hook) -> None:
        super().__init__()
        self._hook = hook

    def __missing__(self, operator: Operator) -> Injection:
        made = self[operator] = inject(self._hook, operator)
        return made


class UnmatchedPattern(NamedTuple):
    """A pattern of a space that matches no name.

    Attributes:
        where: File and line of its entry; empty where the space was declared in code.
        operator: Of its entry.
        key: `"interfaces"` or `"agents"`.
        pattern: As it was given.
        known: The names that there are, sorted.
    """

    where: str
    operator: str
    key: str
    pattern: str
    known: tuple[str, ...]

    @property
    def nearest(self) -> str:
        """The known name that looks most like the pattern; empty where none does."""
        return next(iter(difflib.get_close_matches(self.pattern, self.known, n=1, cutoff=0.6)), "")

    @property
    def advice(self) -> str:
        """What to tell whoever wrote the pattern, after the runs without faults."""
        kind = self.key.removesuffix("s")
        named = [name for name in self.known if name]
        hint = f" Did you mean {self.nearest!r}?" if self.nearest else ""
        listed = ", ".join(named[:NAMES_MAX]) or "none"
        more = f", ... {len(named) - NAMES_MAX} more" if len(named) > NAMES_MAX else ""
        return (
            f"{self.where or self.operator}: {self.key} {self.pattern!r} matches no {kind} of the runs without faults."
            f"{hint} Known: {listed}{more}. If only a fault leads to such an {kind}, leave it as it is."
        )

    def __str__(self) -> str:
        return f"{self.operator}: {self.key} {self.pattern!r}"


class Space:
    """What may be injected where, and what it costs.

    Args:
        choices: The operators; when empty, those that are searched by default, everywhere.
        model: The weights of the cost.

    Attributes:
        choices: The operators.
        model: The weights of the cost.
        outcomes: What operators would do, shared by all searches of the space.
    """

    def __init__(self, choices: Iterable[Choices] = (), model: CostModel | None = None) -> None:
        self.choices = tuple(choices) or tuple(Choices(name, {}) for name in searched_by_default())
        self.model = CostModel() if model is None else model
        self._expanded = [
            (choice, [Priced(self.model.of(operator), operator) for operator in choice.operators()])
            for choice in self.choices
        ]
        self._by_interface: dict[tuple[str, str], tuple[Priced, ...]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._injections: dict[Hook, _Injections] = {}
        self.outcomes = DryOutcomes(history_matters=self.reads_history)
        self._shared: WeakValueDictionary[Hashable, object] = WeakValueDictionary()

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what all searches of the space share: a cache of what follows from the space and the key alone.

        It lives as long as one of them holds it, so that searches that have ended leave nothing behind.

        Args:
            key: Equal keys stand for one object.
            make: Makes it for the first one who asks.
        """
        known = self._shared.get(key)
        if known is None:
            known = self._shared[key] = make()
        return cast("T", known)

    @property
    def interfaces(self) -> frozenset[str]:
        """The interfaces that were asked for so far: with none, the target calls no door."""
        return frozenset(interface for interface, _ in self._seen)

    @property
    def boundaries(self) -> frozenset[str]:
        """The boundaries at which something was asked for so far."""
        return frozenset(interface.partition(":")[0] for interface in self.interfaces)

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the operators, each once."""
        return tuple(dict.fromkeys(choice.operator for choice in self.choices))

    @property
    def asked(self) -> tuple[tuple[str, str], ...]:
        """The interfaces and agents that were asked for so far, sorted."""
        return tuple(sorted(self._seen))

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The patterns of interfaces and agents that no place asked for so far has matched, with their operators."""
        interfaces = [interface for interface, _ in self._seen]
        return tuple(map(str, self.unmatched_among(interfaces, [agent for _, agent in self._seen])))

    @property
    def idle(self) -> tuple[str, ...]:
        """The named operators that no interface asked for so far can take, with their boundaries.

        None where nothing was asked for at all; those whose pattern is in `unmatched` are not listed again.
        """
        return tuple(
            f"{choice.operator}: no {' or '.join(boundaries)}"
            for choice in self.choices
            if choice.named and self._matched(choice)
            for boundaries in [sorted(boundary.value for boundary in OPERATORS.get(choice.operator).boundaries)]
            if not any(
                interface.partition(":")[0] in boundaries and _matches(interface, choice.interfaces)
                for interface in self.interfaces
            )
        )

    def unmatched_among(self, interfaces: Iterable[str], agents: Iterable[str]) -> tuple[UnmatchedPattern, ...]:
        """Return the patterns that match none of some names, in the order of the declaration.

        Args:
            interfaces: Names of interfaces.
            agents: Names of agents.
        """
        by_interface, by_agent = tuple(sorted(set(interfaces))), tuple(sorted(set(agents)))
        return tuple(
            UnmatchedPattern(choice.where, choice.operator, key, pattern, names)
            for choice in self.choices
            for key, patterns, names in (
                ("interfaces", choice.interfaces, by_interface),
                ("agents", choice.agents, by_agent),
            )
            for pattern in patterns
            if pattern != "*" and not any(fnmatch.fnmatchcase(name, pattern) for name in names)
        )

    def at(self, boundary: Boundary, interface: str, agent: str) -> tuple[Priced, ...]:
        """Return what may be injected at an interface into an agent's calls.

        The cheapest come first; of equally dear ones those that were declared first, and of one operator the levels as
        it lists them: so the likelier fault is found where both break a contract.
        """
        key = (interface, agent)
        known = self._by_interface.get(key)
        if known is None:
            self._seen.add(key)
            found = dict.fromkeys(
                priced
                for choice, operators in self._expanded
                if _matches(interface, choice.interfaces) and _matches(agent, choice.agents)
                for priced in operators
                if boundary in priced.operator.boundaries
            )
            known = tuple(sorted(found, key=lambda priced: priced.cost))
            self._by_interface[key] = known
        return known

    def injections_at(self, hook: Hook) -> Mapping[Operator, Injection]:
        """Return the injections at a hook, by operator: one object each, which is found sooner than its like."""
        known = self._injections.get(hook)
        if known is None:
            known = self._injections[hook] = _Injections(hook)
        return known

    @property
    def cost_min(self) -> float:
        """The cost of the cheapest injection."""
        return min((priced.cost for _, operators in self._expanded for priced in operators), default=float("inf"))

    @property
    def reads_history(self) -> bool:
        """Whether some operator looks at earlier exchanges, so that what was answered before matters later."""
        return any(
            getattr(priced.operator, "reads_history", False) for _, operators in self._expanded for priced in operators
        )

    @functools.cached_property
    def digest(self) -> str:
        """The digest of operators, levels, places and weights."""
        return digest_of(
            [
                [self.model.c_tokens, self.model.c_hook, self.model.c_mag],
                [
                    [
                        choice.interfaces,
                        choice.agents,
                        [
                            [operator.name, [list(pair) for pair in parameters_of(operator)]]
                            for _, operator in operators
                        ],
                    ]
                    for choice, operators in self._expanded
                ],
            ]
        )

    def _matched(self, choice: Choices) -> bool:
        """Whether something asked for so far is of one of its interfaces and of one of its agents."""
        return any(
            _matches(interface, choice.interfaces) and _matches(agent, choice.agents) for interface, agent in self._seen
        )


def left_out(searched: Container[str], boundaries: Collection[str]) -> list[str]:
    """Return the registered operators that are not searched, and fit one of some boundaries.

    Args:
        searched: Names of the operators of a space.
        boundaries: Those at which the target was seen to call something.
    """
    return [
        name
        for name in OPERATORS
        if name not in searched and any(one.value in boundaries for one in OPERATORS.get(name).boundaries)
    ]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
