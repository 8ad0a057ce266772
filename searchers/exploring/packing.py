"""Packs: one run that answers many questions of the proof.

The proof asks what follows on a state with some injections. A run comes through many states, and can answer a question
at each: what it does at one checkpoint, every schedule does that comes there. What runs have shown makes a graph, whose
nodes are states and whose edges are injections, or none. A pack is the path through it that most likely answers most
open questions. Where the run goes another way than expected it tells what happens there, which is wanted later, or not
at all.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.searchers.exploring.reactions import Reactions
from chaosagent.searchers.proof.frontier import Family
from chaosagent.searchers.seen.states import NOTHING, START, Edge, Outlook, State, States

PRIOR = 2.0
"""How many runs from a state count as much as what is known of the injection elsewhere."""

ELSEWHERE = 0.5
"""What questions are worth that are asked after the run may have gone another way, in terms of those on the way."""

STATES_PER_PLAN = 16
"""The graph is gone through again when as many runs were told as it has states, divided by this."""

QUESTIONS_MAX = 12
"""Of more open questions at a state only the oldest are looked at, which are the cheapest, too."""

GAIN_BEFORE, GAIN_RATE, GAIN_MIN = 3.0, 0.1, 1.2
"""How many questions a pack is thought to settle at first, how fast that follows what packs do, and below what none is
made: a question that is asked alone is settled for sure."""

TRIED_ALL_THE_SAME = 0.1
"""Share of packs that are made all the same, as others may settle more later."""


class Question(NamedTuple):
    """What follows on a state; open until a run has shown it.

    Attributes:
        cost: Of the cheapest schedule that asks it.
        edge: The state, and what is injected.
        last: What is injected last.
        noticed: How many of the faults before it the target has noticed, as far as that could be told.
    """

    cost: float
    edge: Edge
    last: Injection
    noticed: float


class Pack(NamedTuple):
    """A schedule that asks several questions.

    Attributes:
        schedule: What to inject.
        asked: The questions.
    """

    schedule: Schedule
    asked: list[Edge]


class Packer:
    """Plans packs. What it plans follows from what was told, and from what is out.

    Args:
        states: What is known.
        reactions: How the target reacts.
    """

    def __init__(self, states: States, reactions: Reactions) -> None:
        self._states, self._reactions = states, reactions
        self._open: defaultdict[State, list[Question]] = defaultdict(list)
        self._values: dict[State | None, float] = {}
        self._out: dict[Schedule, list[Edge]] = {}
        self._asked: Counter[Edge] = Counter()
        self._gain = GAIN_BEFORE
        self._told = self._due = 0
        self._bound = self._below = 0.0

    def add(self, family: Family) -> None:
        """Take the questions of a family that is to be searched."""
        origin = family.origin
        course = self._states.course(origin.run)
        if len(course.marks) == 1:
            return  # without checkpoints a run answers one question at most
        noticed = sum(map(self._reactions.noticed, origin.schedule))
        for candidate in family.candidates:
            mark, acted = course.stretch_of(candidate.position)
            edge = (mark.state, acted | {candidate.injection})
            self._open[mark.state].append(Question(origin.cost + candidate.cost, edge, candidate.injection, noticed))

    def told(self, ran: Schedule, bound: float, below: float) -> None:
        """Note that a schedule was run.

        Args:
            ran: Which.
            bound: Cost of the schedules that come next.
            below: Only questions that a cheaper schedule asks are of use.
        """
        for edge in self._out.pop(ran, ()):
            self._asked[edge] -= 1
        answered = [edge for edge in self._states.latest if edge[1]]
        if len(ran) > 1 and answered:
            self._gain += GAIN_RATE * (sum(map(self._is_settled, answered)) - self._gain)
        self._told += 1
        self._bound, self._below = bound, below
        if self._told >= self._due:
            self._evaluate()
            self._due = self._told + len(self._values) // STATES_PER_PLAN

    def _is_settled(self, edge: Edge) -> bool:
        """Whether a question was answered, and so that all that follows is known, too."""
        stretch = self._states.after(*edge)
        if stretch is None:
            return False
        return stretch.next_state is None or self._states.after(stretch.next_state, NOTHING) is not None

    def pack(self, rng: random.Random) -> Pack | None:
        """Return a schedule that asks several questions, `None` when there is only one to ask at a time.

        Args:
            rng: Breaks ties.
        """
        if self._gain < GAIN_MIN and rng.random() >= TRIED_ALL_THE_SAME:
            return None
        chosen: dict[Place, Injection] = {}
        asked: list[Edge] = []
        seen: set[State] = set()
        state: State | None = START
        while state is not None and state not in seen:
            seen.add(state)
            _, question, injections, state = max(
                self._options(state, chosen.keys(), rng), key=lambda option: option[0], default=(0.0, None, (), None)
            )
            chosen.update((place_of(injection), injection) for injection in injections)
            asked += [question.edge] if question is not None else []
        if len(asked) < 2:
            return None
        return Pack(schedule(chosen.values()), asked)

    def ask(self, pack: Pack) -> None:
        """Note that a pack is out."""
        self._out[pack.schedule] = pack.asked
        self._asked.update(pack.asked)

    def _options(
        self, state: State, taken: Iterable[Place], rng: random.Random
    ) -> Iterator[tuple[tuple[float, float], Question | None, frozenset[Injection], State | None]]:
        """Yield what may be done at a state: its worth, the question it answers, the injections, what is expected."""
        values, places = self._values, set(taken)
        for next_state, injections in self._states.ways(state):
            if places.isdisjoint(map(place_of, injections)):
                yield (values.get(next_state, 0.0), rng.random()), None, injections, next_state
        outlook = self._states.outlook(state)
        for question in self._questions(state):
            injections = question.edge[1]
            if self._asked[question.edge] <= 0 and places.isdisjoint(map(place_of, injections)):
                is_noticed = self._reactions.noticed(question.last) >= 0.5 and outlook.disturbed is not None
                expected = outlook.disturbed if is_noticed else outlook.undisturbed
                yield (self._worth(question, outlook), rng.random()), question, injections, expected

    def _questions(self, state: State) -> list[Question]:
        """Return some open questions at a state that are of use, the oldest."""
        found = self._open.get(state)
        if not found:
            return []
        after, below = self._states.after, self._below
        still: list[Question] = []
        useful: list[Question] = []
        seen = 0
        for one in found:
            seen += 1
            if after(*one.edge) is None:
                still.append(one)
                if one.cost < below:
                    useful.append(one)
                    if len(useful) == QUESTIONS_MAX:
                        break
        if len(still) < seen:
            self._open[state] = still + found[seen:]
        return useful

    def _worth(self, question: Question, outlook: Outlook) -> float:
        """Return about how many questions are answered by asking one and going on, dearer ones counted less."""
        values, going_on = self._values, self._going_on(question, outlook)
        unnoticed = 1.0 - self._reactions.noticed(question.last)
        undisturbed = values.get(outlook.undisturbed, 0.0)
        disturbed = ELSEWHERE * undisturbed if outlook.disturbed is None else values.get(outlook.disturbed, 0.0)
        wanted: float = 0.5 ** max(0.0, question.cost - self._bound)
        return wanted + min(unnoticed, going_on) * undisturbed + max(0.0, going_on - unnoticed) * disturbed

    def _going_on(self, question: Question, outlook: Outlook) -> float:
        """Return about how likely a run goes on behind what a question asks."""
        staying = self._reactions.staying(question.last, question.noticed)
        return 1.0 - (outlook.ends + PRIOR * (1.0 - staying)) / (outlook.known + PRIOR)

    def _evaluate(self) -> None:
        """Go through the graph from its ends, and note how many questions can be answered from each state on."""
        values: dict[State | None, float] = {}
        self._values = values
        waiting: list[State] = [START]
        under_way: set[State] = set()
        while waiting:
            state = waiting[-1]
            if state in values:
                waiting.pop()
                continue
            following = [following for following, _ in self._states.ways(state) if following is not None]
            new = [one for one in following if one not in values and one not in under_way]
            under_way.add(state)
            if new:
                waiting += new
                continue
            outlook = self._states.outlook(state)
            worths = [self._worth(question, outlook) for question in self._questions(state)]
            values[state] = max([*worths, *(values.get(one, 0.0) for one in following)], default=0.0)
            waiting.pop()
