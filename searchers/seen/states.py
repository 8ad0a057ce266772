"""What runs have shown of the states that they came through (rule R3, carried further).

A fingerprint covers all that the future of a run depends on. So what one run did from one checkpoint to the next, with
the injections that acted in between, every run does that comes to an equal checkpoint and has the same injections next.
One run with many injections thus shows what many schedules with few of them would do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple, TypeAlias

from chaosagent.faults.dry import Deviation, RecordedCrossing
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.operator import COST_DECIMALS, CostModel
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.searchers.seen.course import BEGIN, NOTHING, START, Course, Mark, State
from chaosagent.searchers.seen.deviations import Deviations
from chaosagent.study.memory.evaluation_log import EvaluationLog
from chaosagent.vocabulary import Ending, Verdict

Edge: TypeAlias = tuple[State, frozenset[Injection]]
"""A state, and what acts behind it before the next checkpoint."""

End: TypeAlias = tuple[Ending, Verdict, bool]
"""How a run ended, what a contract said of it, and whether that is unfair."""

KNOWN_MAX = 20_000
"""Of how many stretches the crossings are remembered; then they are looked at anew."""

COURSES_MAX = 4_096
"""Of how many runs the courses are remembered; then they are made anew."""

TOLD_BY_STATE = frozenset({Ending.FINISHED, Ending.CRASHED})
"""Endings that follow from the state; a limit also depends on how much was used up before."""


class Stretch(NamedTuple):
    """What a run did from a checkpoint to the next one, or to its end.

    Attributes:
        shown_by: The run that showed it, or its number in the log; `States.run_of` returns the run.
        spent: Share of a limit that this run has used.
        begun: Position of the checkpoint.
        ended: Position of the next checkpoint; `None` when the run ended before one.
        next_state: Of that checkpoint.
        end: How the run ended, if before one, as far as that follows from the state.
    """

    shown_by: Evaluation | int
    spent: float
    begun: int
    ended: int | None
    next_state: State | None
    end: End | None


class Step(NamedTuple):
    """A stretch of a run that others have shown: the state that it begins at, what acts in it, and what follows."""

    state: State
    acted: frozenset[Injection]
    stretch: Stretch


class Outlook(NamedTuple):
    """What may follow on a state.

    Attributes:
        undisturbed: The state that follows without injections, `None` when that is unknown, or the end.
        disturbed: The state that follows most often on injections otherwise.
        ends: How many sets of injections are known that end the run.
        known: Of how many that are known.
    """

    undisturbed: State | None
    disturbed: State | None
    ends: int
    known: int


class Path(NamedTuple):
    """How a state is reached.

    Attributes:
        cost: Of the injections.
        injections: That lead there, as far as is known no others are needed.
    """

    cost: float
    injections: frozenset[Injection]


_UNKNOWN: Mapping[frozenset[Injection], Stretch] = {}


class States:
    """Keeps, for each state and the injections that acted behind it, what followed.

    Args:
        monitor: Place of the contract among the monitors of fingerprints.
        model: What injections cost.
        seed: Of the runs.
        log: Has all runs that are taken (`Problem.log`), which are then not kept here; `None` keeps them here.

    Attributes:
        latest: What the last run has shown that was not known before.
    """

    def __init__(self, monitor: int, model: CostModel, seed: int, log: EvaluationLog | None = None) -> None:
        self._log = log if log is not None and log.forgets else None
        self._monitor, self._model, self._deviations = monitor, model, Deviations(seed)
        self.latest: list[Edge] = []
        self._states: dict[State, State] = {}
        self._ends: dict[End, End] = {}
        self._sets: dict[frozenset[Injection], frozenset[Injection]] = {}
        self._alone: dict[Injection, frozenset[Injection]] = {}
        self._paths: dict[State, Path] = {START: Path(0.0, NOTHING)}
        self._courses: dict[Schedule, Course] = {}
        self._stretches: defaultdict[State, dict[frozenset[Injection], Stretch]] = defaultdict(dict)
        self._outlooks: dict[State, Outlook] = {}
        self._ways: dict[State, dict[State | None, frozenset[Injection]]] = {}  # of the states that were asked for
        self._crossings: dict[Edge, dict[Place, RecordedCrossing]] = {}
        self._has_agents = False
        self._followed: defaultdict[State, dict[State | None, int]] = defaultdict(dict)  # how often, disturbed

    def take(self, evaluation: Evaluation) -> bool:
        """Learn from a run.

        Returns:
            Whether it agrees with all runs before: that what followed on equal states was equal, and how they ended.
        """
        self.latest = []
        if evaluation.status is Status.ERROR or not evaluation.fingerprints:
            return True
        schedule, effective = evaluation.schedule, evaluation.effective
        if effective is not schedule and not set(effective) <= set(schedule):
            return True  # what acted at more than one place, or at whichever agent's, is not told apart
        self._has_agents = self._has_agents or any(crossing.place.agent for crossing in evaluation.crossings)
        course, end = self.course(evaluation), self._end_of(evaluation)
        number = None if self._log is None else self._log.number(schedule)
        shown_by = evaluation if number is None else number
        for (begun, state), acted, later in course.stretches():
            if later is None and evaluation.ending not in TOLD_BY_STATE:
                break
            known = self._stretches[state].get(acted)
            ended, next_state = (None, None) if later is None else later
            if known is None:
                acted = self._sets.setdefault(acted, acted)
                own_end = end if next_state is None else None
                self._stretches[state][acted] = Stretch(shown_by, evaluation.spent, begun, ended, next_state, own_end)
                self._note(state, acted, next_state)
                self.latest.append((state, acted))
            elif known.next_state is not next_state and known.next_state != next_state:
                return False
            elif next_state is None:
                return known.end == end
        return True

    def _end_of(self, run: Evaluation) -> End | None:
        """Return how a run ended, as far as that follows from the state; `None` when the contract was not checked."""
        verdict = run.verdicts[self._monitor] if self._monitor < len(run.verdicts) else None
        if verdict is None:
            return None
        end = (run.ending, verdict.verdict, verdict.unfair)
        return self._ends.setdefault(end, end)

    def run_of(self, stretch: Stretch) -> Evaluation:
        """Return the run that has shown a stretch."""
        if not isinstance(stretch.shown_by, int):
            return stretch.shown_by
        assert self._log is not None
        return self._log.at(stretch.shown_by)

    def _note(self, state: State, acted: frozenset[Injection], following: State | None) -> None:
        self._outlooks.pop(state, None)
        ways = self._ways.get(state)
        if ways is not None:
            _shorten_way(ways, acted, following)
        if acted:
            followed = self._followed[state]
            followed[following] = followed.get(following, 0) + 1
        self._shorten(state, acted, following)

    def _shorten(self, state: State, acted: frozenset[Injection], following: State | None) -> None:
        """Take what is known to follow on a state for a shorter way to it, and to what is known to follow on that."""
        changed: list[tuple[State, frozenset[Injection], State | None]] = [(state, acted, following)]
        while changed:
            state, acted, following = changed.pop()
            if following is None:
                continue
            path, known = self._paths[state], self._paths.get(following)
            if acted:
                cost = path.cost + sum([self._model.of(injection.operator) for injection in acted])
                path = Path(round(cost, COST_DECIMALS), path.injections | acted)
            if known is None or path.cost < known.cost:
                self._paths[following] = path
                changed += [(following, injections, further) for further, injections in self.ways(following)]

    @property
    def count(self) -> int:
        """How many states are known to be reached, the start among them."""
        return len(self._paths)

    def path(self, state: State) -> Path | None:
        """Return the cheapest way to a state that is known, `None` when it is unknown."""
        return self._paths.get(state)

    def core(self, evaluation: Evaluation) -> Schedule:
        """Return the injections that most likely lead where a run has led: without those that left nothing behind."""
        course = self.course(evaluation)
        last = course.marks[-1]
        path = self._paths.get(last.state)
        acted = [act.injection for act in course.acts if act.position > last.position]
        return evaluation.effective if path is None else schedule({*path.injections, *acted})

    def course(self, evaluation: Evaluation) -> Course:
        """Return the checkpoints of a run, and what acted in it."""
        known = self._courses.get(evaluation.schedule)
        if known is None:
            marks, monitor, shared = [BEGIN], self._monitor, self._states.setdefault
            for position, common, monitors in evaluation.fingerprints:
                state = (common, monitors[monitor])
                marks.append(Mark(position, shared(state, state)))  # most runs come through the states of others
            if len(self._courses) >= COURSES_MAX:
                self._courses.clear()
            known = self._courses[evaluation.schedule] = Course(tuple(marks), evaluation.acts)
        return known

    def joined(self, acted: frozenset[Injection], injection: Injection) -> frozenset[Injection]:
        """Return what acts between two checkpoints with one injection more; one object for all that are equal."""
        if not acted:
            alone = self._alone.get(injection)
            if alone is None:
                alone = frozenset([injection])
                alone = self._alone[injection] = self._sets.setdefault(alone, alone)
            return alone
        together = acted | {injection}
        return self._sets.setdefault(together, together)

    def after(self, state: State, acted: frozenset[Injection]) -> Stretch | None:
        """Return what follows on a state when these injections act before the next checkpoint; `None` if unknown."""
        known = self._stretches.get(state)
        return None if known is None else known.get(acted)

    def following(self, state: State) -> Mapping[frozenset[Injection], Stretch]:
        """Return what is known to follow on a state, by what acts behind it."""
        return self._stretches.get(state, _UNKNOWN)

    def quiet(self) -> Iterator[Injection]:
        """Yield the injections that led to the same next checkpoint as no injection, each once."""
        seen: set[Injection] = set()
        for known in self._stretches.values():
            undisturbed = known.get(NOTHING)
            if undisturbed is None or undisturbed.next_state is None:
                continue
            for acted, stretch in known.items():
                if len(acted) == 1 and stretch.next_state == undisturbed.next_state and not acted <= seen:
                    seen |= acted
                    yield from acted

    def ways(self, state: State) -> Iterable[tuple[State | None, frozenset[Injection]]]:
        """Return what is known to follow on a state, `None` for an end, each with the fewest injections it takes."""
        ways = self._ways.get(state)
        if ways is None:
            known = self._stretches.get(state)
            if known is None:
                return ()
            ways = self._ways[state] = {}
            for acted, stretch in known.items():
                _shorten_way(ways, acted, stretch.next_state)
        return ways.items()

    def outlook(self, state: State) -> Outlook:
        """Return what may follow on a state."""
        outlook = self._outlooks.get(state)
        if outlook is None:
            outlook = self._outlooks[state] = self._outlook(state)
        return outlook

    def _outlook(self, state: State) -> Outlook:
        known = self.after(state, NOTHING)
        undisturbed = None if known is None else known.next_state
        followed = self._followed.get(state)
        if followed is None:
            return Outlook(undisturbed, None, 0, 0)
        others = [pair for pair in followed.items() if pair[0] is not None and pair[0] != undisturbed]
        disturbed = max(others, key=lambda pair: pair[1], default=(None, 0))[0]
        return Outlook(undisturbed, disturbed, followed.get(None, 0), sum(followed.values()))

    def foresee(self, run: Evaluation, position: int, injection: Injection) -> Stretch | None:
        """Return what follows when an injection is added to a run, up to the next checkpoint; `None` if unknown.

        Args:
            run: That was executed.
            position: When the injection would act in it; what acts in the run behind that is left out.
            injection: What is added.
        """
        mark, acted = self.course(run).stretch_of(position)
        return self.after(mark.state, acted | {injection} if acted else self.joined(acted, injection))

    def foretold(self, schedule: Schedule) -> Stretch | None:
        """Return how a run of a schedule ends when others have shown all that it would do, `None` if they have not.

        Also `None` where these have used as much of a limit together as would end the run.
        """
        steps = self.steps_of(schedule)
        return None if steps is None else steps[-1].stretch

    def steps_of(self, schedule: Schedule) -> list[Step] | None:
        """Return all that a run of a schedule would do, as `foretold`."""
        if self._has_agents and not all(injection.place.agent for injection in schedule):
            return None  # it acts at whichever agent's call comes first
        if not all(injection.hook.single for injection in schedule):
            return None  # it acts at more places than its first
        left, state = list(schedule), START
        been = {state}
        steps: list[Step] = []
        while True:
            acted, stretch = self._shown(state, left)
            while stretch is not None and (following := self._next_act(state, acted, stretch, left)) is not None:
                acted = self.joined(acted, following)
                stretch = self.after(state, acted)
            if stretch is None:
                return None
            steps.append(Step(state, acted, stretch))
            if stretch.next_state is None:
                return steps if limit_share_used(step.stretch for step in steps) < 1.0 else None
            state = stretch.next_state
            left = [injection for injection in left if injection not in acted]
            if state in been and not acted:
                return None  # how often it comes here is in no fingerprint
            been.add(state)

    def _shown(self, state: State, left: Iterable[Injection]) -> tuple[frozenset[Injection], Stretch | None]:
        """Return what follows on a state when nothing acts behind it, or if that is unknown one of some injections."""
        known = self.following(state)
        if NOTHING not in known:
            for injection in left:
                alone = frozenset([injection])
                if alone in known:
                    return alone, known[alone]
        return NOTHING, known.get(NOTHING)

    def _next_act(
        self, state: State, acted: frozenset[Injection], stretch: Stretch, left: Iterable[Injection]
    ) -> Injection | None:
        """Return which injection acts first in a stretch, of those that its run did not have.

        Of one that may act at the ask or at the answer it is the ask. The order does not matter for what follows: a run
        in which just some injections act, and none of the others would, is the run with all of them.
        """
        crossings = self._crossings.get((state, acted))
        if crossings is None:
            if len(self._crossings) >= KNOWN_MAX:
                self._crossings.clear()
            ended = inf if stretch.ended is None else stretch.ended
            crossings = self._crossings[state, acted] = {
                crossing.place: crossing
                for crossing in self.run_of(stretch).crossings
                if stretch.begun < crossing.asked <= ended or stretch.begun < crossing.answered <= ended
            }
        first, found = inf if stretch.ended is None else stretch.ended + 0.5, None
        for injection in left:
            crossing = crossings.get(injection.place)
            if crossing is not None and injection not in acted:
                deviation = self._deviations.of(injection, crossing, self.run_of(stretch))
                if deviation is Deviation.NEVER:
                    continue
                position = deviation.position(crossing.asked, crossing.answered)
                if stretch.begun < position < first:
                    first, found = position, injection
        return found


def limit_share_used(stretches: Iterable[Stretch]) -> float:
    """Return what stretches in a row use of a limit at most, as a share: what the runs used that show them."""
    return sum({_key_of(stretch.shown_by): stretch.spent for stretch in stretches}.values())


def _key_of(shown_by: Evaluation | int) -> Schedule | int:
    return shown_by if isinstance(shown_by, int) else shown_by.schedule


def _shorten_way(
    ways: dict[State | None, frozenset[Injection]], acted: frozenset[Injection], following: State | None
) -> None:
    """Take what acts before a state follows for the shortest way to it, unless one at most as long is known."""
    known = ways.get(following)
    if known is None or len(acted) < len(known):
        ways[following] = acted
