"""Packs: one run that answers many questions of the proof.

The proof asks what follows on a state with some injections. A run comes through many states, and can answer a question
at each: what it does at one checkpoint, every schedule does that comes there. What runs have shown makes a graph, whose
nodes are states and whose edges are injections, or none. A pack is the path through it that most likely answers most
open questions. Where the run goes another way than expected it tells what happens there, which is wanted later, or not
at all.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from chaosagent.faults.evaluation import Act
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.searchers.exploring.reactions import Reactions, distinguishable
from chaosagent.searchers.proof.frontier import Family
from chaosagent.searchers.seen.course import NOTHING, START, State
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.states import Edge, Outlook, States

PRIOR = 2.0
"""How many runs from a state count as much as what is known of the injection elsewhere."""

ELSEWHERE = 0.5
"""What questions are worth that are asked after the run may have gone another way, in terms of those on the way."""

STATES_PER_PLAN = 16
"""The graph is gone through again when as many runs were told as it has states, divided by this."""

STATES_MANY = 600
"""Of a graph with more states than this it is gone through less often still, by how many times more they are: what a
trial costs falls then, and what packs bring has been learned long before."""

QUESTIONS_MAX = 12
"""Of more open questions at a state only the oldest are looked at, which are the cheapest, too."""

GAIN_BEFORE, GAIN_RATE, GAIN_MIN = 3.0, 0.1, 1.2
"""How many questions a pack is thought to settle at first, how fast that follows what packs do, and below what none is
made: a question that is asked alone is settled for sure."""

TRIED_ALL_THE_SAME = 0.1
"""Share of packs that are made all the same, as others may settle more later."""


_place = attrgetter("place")
_position = attrgetter("position")


class Question(NamedTuple):
    """What follows on a state; open until a run has shown it. There may be dozens for each trial, so each is small.

    Attributes:
        cost: Of the cheapest schedule that asks it.
        acted: What is injected at the state.
        last: What is injected last.
        after: How many of the faults before it the target has noticed, as far as such numbers are told apart.
    """

    cost: float
    acted: frozenset[Injection]
    last: Injection
    after: int


class _Later(NamedTuple):
    """The questions of a family at one checkpoint of its run; most are never looked at.

    It does not hold the run, as there may be one of these for each trial.

    Attributes:
        cost: Of the family's origin.
        candidates: One for each question.
        acts: What acts in the run between this checkpoint and the next.
        after: How many of the faults before it the target has noticed, as far as such numbers are told apart.
    """

    cost: float
    candidates: list[Candidate]
    acts: tuple[Act, ...]
    after: int


class _Worthiest(NamedTuple):
    """What the worthiest question at a state is worth, and what that follows from, besides the bound and the reactions.

    Attributes:
        worth: Of the question; nothing where there is none.
        questions: At the state.
        outlook: Of the state.
        values: Of the states that may follow.
    """

    worth: float
    questions: list[Question]
    outlook: Outlook
    values: tuple[float, float]


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
        self._later: defaultdict[State, list[_Later]] = defaultdict(list)  # a deque takes 700 bytes for one entry
        self._useful: dict[State, list[Question]] = {}  # what was found among those, until it may be something else
        self._values: dict[State | None, float] = {}
        self._worthiest: dict[State, _Worthiest] = {}
        self._worthiest_for: tuple[float, int] = (0.0, 0)
        self._out: dict[Schedule, list[Edge]] = {}
        self._asked: Counter[Edge] = Counter()
        self._gain = GAIN_BEFORE
        self._told = self._due = 0
        self._is_stale = False  # an evaluation was left out
        self._bound = self._below = 0.0

    @property
    def has_questions(self) -> bool:
        """Whether it was ever told of states at which something could be asked."""
        return bool(self._later)

    def add(self, family: Family) -> None:
        """Take the questions of a family that is to be searched."""
        origin = family.origin
        if not origin.run.fingerprints:
            return
        marks, acts = self._states.course(origin.run)
        if len(marks) == 1:
            return  # without checkpoints a run answers one question at most
        after = distinguishable(sum(map(self._reactions.noticed, origin.schedule)))
        behind: defaultdict[int, list[Candidate]] = defaultdict(list)
        for candidate in family.candidates:
            behind[bisect_left(marks, candidate.position, key=_position) - 1].append(candidate)
        for number in sorted(behind):
            (first, state), *following = marks[number : number + 2]
            last = following[0].position if following else float("inf")
            acting = tuple([act for act in acts if first < act.position < last])
            self._later[state].append(_Later(origin.cost, behind[number], acting, after))
            if len(self._useful.get(state, ())) < QUESTIONS_MAX:
                self._useful.pop(state, None)

    def told(self, ran: Schedule, bound: float, below: float, *, further: int = 0) -> None:
        """Note that a schedule was run.

        Args:
            ran: Which.
            bound: Cost of the schedules that come next.
            below: Only questions that a cheaper schedule asks are of use.
            further: At least so many more runs are noted before a pack is wanted.
        """
        for edge in self._out.pop(ran, ()):
            self._asked[edge] -= 1
        answered = [edge for edge in self._states.latest if edge[1]]
        if len(ran) > 1 and answered:
            self._gain += GAIN_RATE * (sum(map(self._is_settled, answered)) - self._gain)
        for state, _ in self._states.latest:
            self._useful.pop(state, None)
        if below != self._below:
            self._useful.clear()
        self._told += 1
        self._bound, self._below = bound, below
        if self._later and self._told >= self._due:
            states = self._states.count
            runs = states * max(states, STATES_MANY) // (STATES_PER_PLAN * STATES_MANY)
            self._due = self._told + runs
            self._is_stale = max(1, runs) <= further  # the next evaluation comes before anybody looks at this one
            if not self._is_stale:
                self._evaluate()

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
        if self._is_stale:  # fewer runs were noted than was said
            self._is_stale = False
            self._evaluate()
        if self._gain < GAIN_MIN and rng.random() >= TRIED_ALL_THE_SAME:
            return None
        chosen: dict[Place, Injection] = {}
        asked: list[Edge] = []
        seen: set[State] = set()
        state: State | None = START
        while state is not None and state not in seen:
            seen.add(state)
            here = state
            _, question, injections, state = max(
                self._options(state, chosen.keys(), rng), key=lambda option: option[0], default=(0.0, None, (), None)
            )
            chosen.update((injection.place, injection) for injection in injections)
            asked += [(here, question.acted)] if question is not None else []
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
            if places.isdisjoint(map(_place, injections)):
                yield (values.get(next_state, 0.0), rng.random()), None, injections, next_state
        outlook = self._states.outlook(state)
        questions = self._questions(state)
        for question, worth in zip(questions, self._worths(questions, outlook), strict=True):
            injections = question.acted
            if self._asked[state, injections] <= 0 and places.isdisjoint(map(_place, injections)):
                is_noticed = self._reactions.noticed(question.last) >= 0.5 and outlook.disturbed is not None
                expected = outlook.disturbed if is_noticed else outlook.undisturbed
                yield (worth, rng.random()), question, injections, expected

    def _questions(self, state: State) -> list[Question]:
        """Return some open questions at a state that are of use, the oldest."""
        useful = self._useful.get(state)
        if useful is None:
            useful = self._useful[state] = self._looked_through(state)
        return useful

    def _looked_through(self, state: State) -> list[Question]:
        later = self._later.get(state)
        if later is None:
            return []
        known, below, found = self._states.following(state), self._below, self._open[state]
        useful: list[Question] = []
        answered: list[int] = []
        for number, one in enumerate(self._each(found, later)):
            if one.acted in known:
                answered.append(number)
            elif one.cost < below:
                useful.append(one)
                if len(useful) == QUESTIONS_MAX:
                    break
        for number in reversed(answered):
            del found[number]
        return useful

    def _each(self, found: list[Question], later: list[_Later]) -> Iterator[Question]:
        """Yield the questions that were looked at before, then those of families, which are `found` from now on."""
        yield from found
        while later:
            before, candidates, acts, after = later[0]
            while candidates:
                cost, position, injection = candidates.pop(0)
                acted = frozenset([act.injection for act in acts if act.position < position]) if acts else NOTHING
                one = Question(before + cost, self._states.joined(acted, injection), injection, after)
                found.append(one)
                yield one
            later.pop(0)

    def _worthiest_at(self, state: State) -> float:
        """Return what the worthiest question at a state is worth; mostly the same as when it was asked for last."""
        questions, outlook = self._questions(state), self._states.outlook(state)
        if not questions:
            return 0.0
        values, known = self._values_behind(outlook), self._worthiest.get(state)
        if known is not None and known.questions is questions and known.outlook is outlook and known.values == values:
            return known.worth
        worth = max(self._worths(questions, outlook))
        self._worthiest[state] = _Worthiest(worth, questions, outlook, values)
        return worth

    def _values_behind(self, outlook: Outlook) -> tuple[float, float]:
        """Return the values of what follows on a state undisturbed, and otherwise."""
        undisturbed = self._values.get(outlook.undisturbed, 0.0)
        if outlook.disturbed is None:
            return undisturbed, ELSEWHERE * undisturbed
        return undisturbed, self._values.get(outlook.disturbed, 0.0)

    def _worths(self, questions: Iterable[Question], outlook: Outlook) -> list[float]:
        """Return about how many questions are answered by asking each and going on, dearer ones counted less."""
        expected, bound, ends, known = self._reactions.expected, self._bound, outlook.ends, outlook.known
        undisturbed, disturbed = self._values_behind(outlook)
        worths: list[float] = []
        for cost, _, last, after in questions:
            noticed, staying = expected(last, after)
            unnoticed = 1.0 - noticed
            # About how likely the run goes on behind what the question asks.
            going_on = 1.0 - (ends + PRIOR * (1.0 - staying)) / (known + PRIOR)
            dearer = cost - bound
            wanted: float = 0.5**dearer if dearer > 0.0 else 1.0
            worth = wanted + (unnoticed if unnoticed < going_on else going_on) * undisturbed
            worths.append(worth + (going_on - unnoticed) * disturbed if going_on > unnoticed else worth)
        return worths

    def _evaluate(self) -> None:
        """Go through the graph from its ends, and note how many questions can be answered from each state on."""
        values: dict[State | None, float] = {}
        self._values = values
        if self._worthiest_for != (self._bound, self._reactions.changes):
            self._worthiest_for = self._bound, self._reactions.changes
            self._worthiest.clear()
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
            values[state] = max([self._worthiest_at(state), *[values.get(one, 0.0) for one in following]])
            waiting.pop()
