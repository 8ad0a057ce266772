"""Which steps are meant: patterns in text form, so that a study file can say it.

| pattern | steps that are meant |
| --- | --- |
| `refund`, `get_*` | an operation of that name, at any interface |
| `payments.refund`, `mail.*` | an operation of an interface of that name |
| `service:payments.refund`, `memory:*.write` | the same, with the boundary |
| `effect:payments.*` | a high-impact effect of that kind was committed |
| `note:detected` | the target noted that |
| `role:verifier`, `agent:planner` | any action of that role or agent |

`*`, `?` and `[...]` mean what they mean in file names. An operation, a role and an agent are meant when the target
acts: a step that only tells of something late, or a note, is not an action. A blocked action is none either.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from fnmatch import translate
from typing import TypeAlias

from chaosagent.errors import UsageError
from chaosagent.trace.step import Step, StepKind
from chaosagent.vocabulary import Boundary, Impact, Mediation

Predicate: TypeAlias = Callable[[Step], bool]

KNOWN_MAX = 4096
_WORDS = ("effect", "note", "role", "agent")
_BOUNDARIES = frozenset(boundary.value for boundary in Boundary)


def acts(step: Step) -> bool:
    """Whether a step is an action of the target that was not blocked."""
    return (
        step.kind is StepKind.CALL or step.kind is StepKind.CANCELLED
    ) and step.decision.mediation is not Mediation.BLOCK


def commits(step: Step) -> bool:
    """Whether a high-impact effect was committed in the course of a step."""
    return any(effect.impact is Impact.HIGH for effect in step.effects)


def answered(means: Predicate) -> Predicate:
    """Return the predicate of those steps, among some, that brought an answer and no failure; notes are answered."""

    def is_answered(step: Step) -> bool:
        return means(step) and not step.has_failed and step.kind is not StepKind.CANCELLED

    is_answered.__name__ = repr(means)
    return is_answered


class StepPattern:
    """A step predicate made of patterns; a step is meant when one of them means it.

    Args:
        texts: The patterns.

    Raises:
        UsageError: A pattern is empty or begins with a word that is none.
    """

    __slots__ = ("_agents", "_effects", "_known", "_notes", "_only_effects", "_operations", "_other", "_roles", "texts")

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts
        parts: dict[str, list[str]] = {word: [] for word in ("operation", *_WORDS)}
        for text in texts:
            word, glob = _parse(text)
            parts[word].append(glob)
        self._operations = _any_of(parts["operation"])
        self._effects = _any_of(parts["effect"])
        self._notes = _any_of(parts["note"])
        self._roles = _any_of(parts["role"])
        self._agents = _any_of(parts["agent"])
        self._only_effects = not any(parts[word] for word in ("note", "role", "agent"))
        self._other = bool(parts["effect"]) or not self._only_effects
        self._known: dict[str, dict[str, bool]] = {}

    def __call__(self, step: Step) -> bool:
        """Whether a step is meant."""
        try:
            meant = self._known[step.interface][step.operation]
        except KeyError:
            meant = self._learn(step.interface, step.operation)
        if meant and acts(step):
            return True
        return self._other and self._means_otherwise(step)

    def __repr__(self) -> str:
        return " | ".join(self.texts)

    def _learn(self, interface: str, operation: str) -> bool:
        boundary, _, name = interface.partition(":")
        glob = self._operations
        meant = glob is not None and any(
            glob.match(text) for text in (operation, f"{name or boundary}.{operation}", f"{interface}.{operation}")
        )
        if len(self._known) >= KNOWN_MAX or len(self._known.get(interface, ())) >= KNOWN_MAX:
            self._known.clear()
        self._known.setdefault(interface, {})[operation] = meant
        return meant

    def _means_otherwise(self, step: Step) -> bool:
        if step.effects and self._effects is not None:
            for effect in step.effects:
                if effect.impact is Impact.HIGH and self._effects.match(effect.kind):
                    return True
        if self._only_effects:
            return False
        if step.kind is StepKind.NOTE:
            return self._notes is not None and self._notes.match(step.operation) is not None
        by_role = self._roles is not None and self._roles.match(step.role) is not None
        by_agent = self._agents is not None and self._agents.match(step.agent) is not None
        return (by_role or by_agent) and acts(step)


def predicate(contract: str, given: object) -> Predicate:
    """Return a step predicate: a function as it is, a pattern in text form as a `StepPattern`.

    Raises:
        UsageError: `given` is neither.
    """
    if isinstance(given, str):
        return step_pattern((given,))
    if not callable(given):
        raise UsageError(f"{contract}: {given!r} is no step predicate. Give a function of a step, or a step pattern.")
    return given


@functools.lru_cache(maxsize=1024)
def step_pattern(texts: tuple[str, ...]) -> StepPattern:
    """Return the step predicate of some patterns; equal patterns share what they learned of operations."""
    return StepPattern(texts)


def glob(texts: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what matches a text that one of some glob patterns describes; `None` without patterns."""
    return _any_of(list(texts))


def _parse(text: str) -> tuple[str, str]:
    word, colon, rest = text.partition(":")
    if not text or (colon and not rest):
        raise UsageError(f"step pattern {text!r}: nothing stands in it. Write 'payments.refund', for example.")
    if colon and word in _WORDS:
        return word, rest
    if colon and word not in _BOUNDARIES and not set(word) & set("*?[."):
        known = ", ".join(sorted({*_WORDS, *_BOUNDARIES}))
        raise UsageError(f"step pattern {text!r}: {word!r} is not known before a colon; known are {known}.")
    return "operation", text


def _any_of(globs: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(translate(text) for text in globs)) if globs else None
