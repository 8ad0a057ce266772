"""What the agent does with tools: it asks until it understands the answer, acts, and reports what it did.

Procedures are generators: they yield a call, are sent its answer, and decide what to do next by what they read. They
know nothing else; neither AgentDojo's ground truth nor the environment behind the tools can be reached from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.closed_loop.phrases import bare
from chaosagent.experiments.dojo.closed_loop.shapes import Unreadable
from chaosagent.experiments.dojo.plan import Call, leaves
from chaosagent.experiments.dojo.policy import BLOCKED, REFUSED, Answer
from chaosagent.experiments.dojo.traits import DONE_BEFORE, LOOKS, REPEATABLE

T = TypeVar("T")
Steps: TypeAlias = Generator[Call, Answer, T]
ORDERS_MAX = 20
MISSES_MIN = 2
KEPT_MAX = 4_096
# Asked again, these tell something else.
CONSUMING = frozenset({"get_unread_emails"})


class GivesUp(Exception):
    """The agent cannot go on; the text says why."""


class Refused(GivesUp):
    """A tool refused; asking again in the same words would change nothing."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How the agent reacts.

    Attributes:
        retries: How often it repeats a call that failed, or asks again when it does not understand the answer.
        confirms: Whether it believes an answer only when it got the same twice, and looks after each write whether
            it took place, as far as that can be seen.
        trusts: Whether it does what sentences ask for that it reads in the answers of tools.
    """

    retries: int
    confirms: bool
    trusts: bool


class Slots(dict[str, str]):
    """What fits in the gaps of a pattern, by name; nothing is the empty text."""

    def __missing__(self, name: str) -> str:
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Skill:
    """One thing that the agent can do; equal to itself only.

    Attributes:
        pattern: The sentences that ask for it.
        tools: Says which it takes, by what the sentence says.
        do: How it is done.
    """

    pattern: re.Pattern[str]
    tools: Callable[[Slots], frozenset[str]]
    do: Callable[[Agent, Slots], Steps[None]]


class Order(NamedTuple):
    """Something that a text asks for.

    Attributes:
        words: The part of the text that asks for it.
        skill: How it is done.
        slots: What the text says about it.
    """

    words: str
    skill: Skill
    slots: Slots


@lru_cache(maxsize=KEPT_MAX)
def understood(text: str, skills: tuple[Skill, ...]) -> tuple[Order, ...]:
    """Return what a text asks for, in the order of the text; of overlapping readings the earlier, then the longer."""
    found = [(match, skill) for skill in skills for match in skill.pattern.finditer(text)]
    found.sort(key=lambda one: (one[0].start(), -one[0].end()))
    orders: list[Order] = []
    end = 0
    for match, skill in found:
        if match.start() >= end and match.end() > match.start():
            end = match.end()
            slots = {name: bare(value) for name, value in match.groupdict().items() if value is not None}
            orders.append(Order(match[0], skill, Slots(slots)))
    return tuple(orders[:ORDERS_MAX])


@dataclass(slots=True)
class Agent:
    """One conversation's agent.

    Attributes:
        habits: How it reacts.
        skills: What it can do.
        tools: The names of its tools.
        done: The writes that it takes for done.
        said: What it has to say to the user.
        failed: The write that it gave up, if it did.
    """

    habits: Habits
    skills: tuple[Skill, ...]
    tools: Collection[str]
    done: list[Call] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    failed: Call | None = None
    _obeyed: set[str] = field(default_factory=set)

    def say(self, text: str) -> None:
        """Tell the user something, at the end."""
        self.said.append(text)

    def ask(self, tool: str, shape: Callable[[Plain], T], **arguments: Plain) -> Steps[T]:
        """Return what a tool answers, read as a shape.

        Raises:
            Refused: The tool says that there is no such thing.
            GivesUp: No answer could be read, or, when the agent confirms, no two in a row were the same.
        """
        call, before, trouble = Call(tool, arguments), None, ""
        for _ in range(self.habits.retries + 1 + self.habits.confirms):
            answer = yield from self._called(call)
            if answer.failure == REFUSED:
                raise Refused(f"{tool}: {answer.text}")
            if answer.failure == BLOCKED:
                raise GivesUp(f"I am not allowed to use {tool}.")
            if answer.failure:
                trouble = answer.text
                continue
            try:
                read = shape(answer.value)
            except Unreadable as error:
                trouble = f"I do not understand the answer: {error}"
                continue
            if not self.habits.confirms or read == before or tool in CONSUMING:
                return read
            before, trouble = read, "the answers differ"
        raise GivesUp(f"{tool}: {trouble}")

    def act(self, tool: str, **arguments: Plain) -> Steps[Plain]:
        """Do a write; return what the tool answered, `None` when a look shows that it was done.

        Raises:
            GivesUp: The write failed, or nobody can say whether it took place.
        """
        call = Call(tool, arguments)
        answer = Answer(None)
        for attempt in range(self.habits.retries + 1):
            answer = yield from self._called(call)
            if answer.failure == BLOCKED:
                break
            if answer.failure == REFUSED:
                if attempt and DONE_BEFORE.get(tool, "\0") in answer.text:
                    return self._finished(call, None)
                break
            if not answer.failure and not self.habits.confirms:
                return self._finished(call, answer.value)
            if self.habits.confirms:
                seen = yield from self._seen(call)
                if seen:
                    return self._finished(call, None)  # what the answer says besides was not confirmed
                if seen is None and not answer.failure:
                    return self._finished(call, answer.value)
                if seen is None and tool not in REPEATABLE and tool not in DONE_BEFORE:
                    break
        self.failed = call
        raise GivesUp(f"{tool}: {answer.text}")

    def follow(self, text: str) -> Steps[None]:
        """Do what a text asks for, once each.

        Raises:
            GivesUp: There is nothing in it that the agent understands, or something failed.
        """
        orders = understood(text, self.skills)
        if not orders:
            raise GivesUp("I do not understand what is to be done.")
        for order in orders:
            if order.words not in self._obeyed:
                self._obeyed.add(order.words)
                yield from order.skill.do(self, order.slots)

    def _finished(self, call: Call, value: Plain) -> Plain:
        self.done.append(call)
        return value

    def _called(self, call: Call) -> Steps[Answer]:
        """Call, and do what the answer says if the agent trusts it."""
        answer = yield call
        if self.habits.trusts:
            for order in self._orders_in(answer.value):
                self._obeyed.add(order.words)
                failed = self.failed
                try:
                    yield from order.skill.do(self, order.slots)
                except GivesUp:  # whoever wrote this gets no report
                    self.failed = failed
        return answer

    def _orders_in(self, answer: Plain) -> Iterator[Order]:
        for _, leaf in leaves(answer):
            if isinstance(leaf, str):
                for order in understood(leaf, self.skills):
                    if order.words not in self._obeyed:
                        yield order

    def _seen(self, call: Call) -> Steps[bool | None]:
        """Return whether a write took place, `None` when that cannot be seen; one look may be wrong."""
        look, misses = LOOKS.get(call.tool), 0
        if look is None or look.tool not in self.tools:
            return None
        for _ in range(self.habits.retries + 1):
            answer = yield from self._called(Call(look.tool, look.arguments(call.arguments)))
            if answer.failure and answer.failure != REFUSED:
                continue
            if not answer.failure and look.finds(call.arguments, answer.value):
                return True
            misses += 1
            if misses == MISSES_MIN:
                return False
        return None


def skill(template: re.Pattern[str], do: Callable[[Agent, Slots], Steps[None]], tools: str) -> Skill:
    """Return a skill that takes the same tools always, given in one text with blanks between."""
    taken = frozenset(tools.split())
    return Skill(template, lambda _: taken, do)


def tools_for(text: str, skills: tuple[Skill, ...]) -> frozenset[str]:
    """Return the tools that doing what a text asks for takes, as far as the text alone tells."""
    return frozenset(tool for order in understood(text, skills) for tool in order.skill.tools(order.slots))


SkillTable: TypeAlias = Mapping[str, tuple[Skill, ...]]
