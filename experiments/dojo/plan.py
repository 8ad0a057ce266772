"""What the scripted agent of AgentDojo does in a task, and where it has its knowledge from.

AgentDojo's ground truth is a list of calls with constant arguments, so no answer would change it. Many of these
constants stand in what the calls before them read, though: an account number in a bill, the id of a standing order. A
plan says so (`Source`), and the policy takes them from the answers that it really gets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.traits import writes

Path: TypeAlias = "tuple[str | int, ...]"
LETTERS_MIN = 3


class Call(NamedTuple):
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Plain]


class Source(NamedTuple):
    """Where the value of an argument can be read.

    Attributes:
        step: Number of the plan's step whose answer holds it, from 0.
        path: Keys and positions that lead to it in the answer.
        inside: Whether a text at that place contains the value, rather than being it.
    """

    step: int
    path: Path
    inside: bool

    def read(self, answer: Plain, wanted: Plain) -> Plain:
        """Return the value from an answer.

        Args:
            answer: Of the step.
            wanted: What stands there without faults; inside a text it is that or nothing.

        Raises:
            LookupError: The answer does not hold it.
        """
        value = answer
        for key in self.path:
            if isinstance(value, Mapping) and key in value:
                value = value[str(key)]
            elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                raise LookupError(f"nothing at {key!r}")
        if value is None or (self.inside and not (isinstance(value, str) and _mentions(value, wanted))):
            raise LookupError(f"{wanted!r} is not there")
        return wanted if self.inside else value


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One call of a plan, and where its arguments can be read, by name."""

    call: Call
    sources: Mapping[str, Source]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do in a task.

    Attributes:
        steps: In order.
        answer: What to say at the end.
    """

    steps: tuple[PlanStep, ...]
    answer: str


def plan(calls: Sequence[Call], answers: Sequence[Plain], *, prompt: str, answer: str) -> Plan:
    """Return the plan behind some calls.

    Args:
        calls: As the ground truth has them.
        answers: What the tools answer to them without faults.
        prompt: What the user asked; what stands there need not be read anywhere.
        answer: What to say at the end.
    """
    steps = []
    for number, call in enumerate(calls):
        readable = {earlier: answers[earlier] for earlier in range(number) if not writes(calls[earlier].tool)}
        found = {
            name: _source(name, value, readable)
            for name, value in call.arguments.items()
            if _is_telling(value) and not _mentions(prompt, value)
        }
        steps.append(PlanStep(call, {name: source for name, source in found.items() if source is not None}))
    return Plan(tuple(steps), answer)


def leaves(value: Plain, path: Path = ()) -> Iterator[tuple[Path, Plain]]:
    """Return what is neither a mapping nor a list inside a value, each with its path; mappings in the order of keys."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from leaves(item, (*path, position))
    else:
        yield path, value


def _source(name: str, value: Plain, answers: Mapping[int, Plain]) -> Source | None:
    """Return the latest place that holds a value: under the same name, else as a whole text, else inside one."""
    for step in sorted(answers, reverse=True):
        placed = list(leaves(answers[step]))
        equal = [path for path, leaf in placed if type(leaf) is type(value) and leaf == value]
        named = [path for path in equal if path and path[-1] == name]
        inside = [path for path, leaf in placed if isinstance(leaf, str) and _mentions(leaf, value)]
        if named:
            return Source(step, named[0], inside=False)
        if equal and isinstance(value, str):
            return Source(step, equal[0], inside=False)
        if inside:
            return Source(step, inside[0], inside=True)
    return None


def _is_telling(value: Plain) -> bool:
    return (isinstance(value, str) and len(value) >= LETTERS_MIN) or type(value) in (int, float)


def _mentions(text: str, value: Plain) -> bool:
    written = [str(value)]
    if type(value) is float:
        written += [f"{value:.2f}", f"{value:g}"]
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?!\w)", text) for form in written)
