"""Chains below merges: schedules that show whether checkpoints leave out something on which the future depends.

Rule R3 merges runs that declare the same state at a checkpoint. If a fault leaves behind something that is not
declared, the merge is wrong, but often only further faults show it: a random sample of merged runs then all look alike.
So the audit also runs chains: a merged fault together with faults of other runs, preferably those that left most behind
in the declared state. All parts of a chain are known from other runs, so rule R3 predicts how it ends.

Which merges come first? Those of runs whose variables differed although their declared states did not
(`Evaluation.undeclared`). The difference is a hint and no evidence: what differs need not matter, and what matters may
be invisible, in a database or a C extension. So only a run that contradicts a prediction disables the rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation, Status, Undeclared
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_TOLERANCE, CostModel
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.proof.combinations import Combinations, shuffle_key, with_fault
from chaosagent.searchers.seen.course import State
from chaosagent.searchers.seen.states import TOLD_BY_STATE, States
from chaosagent.searchers.seen.trial_log import TrialLog

VARIANTS_MAX = 8
"""How many runs through one state have their variables compared."""

CONTEXTS_MAX = 64
"""With how many other runs a merged fault is combined at most."""

FAULTS_MAX = 4
"""How many faults with the same undeclared variables are combined with other runs."""

TRIES_MAX = 4_000
"""How often an audit tries whether another fault fits into a chain."""

SMALL_SHARE = 8
"""Without any suspicion, the size of the audit through this is how many small combinations are run all the same."""

GROUPS_MAX = 16
"""How many sets of undeclared variables are looked at."""


class Suspicion(NamedTuple):
    """A fault after which variables differ although a checkpoint declares the same state.

    Attributes:
        injection: The fault.
        place: The checkpoint.
        names: The variables.
    """

    injection: Injection
    place: str
    names: tuple[str, ...]


class _Variant(NamedTuple):
    """The variables of a run at a checkpoint, and the injections that acted before it."""

    seen: Undeclared
    acted: frozenset[Injection]


class Chains:
    """Finds suspicious merges and the chains below them.

    Args:
        states: What runs have shown.
        model: What injections cost.
        budget: Of a chain.
    """

    def __init__(self, states: States, model: CostModel, budget: float) -> None:
        self._states, self._model, self._budget = states, model, budget
        self._combinations = Combinations(states, model)
        self._merged: dict[Injection, None] = {}  # all that acted before a checkpoint, in a run that was told
        self._looked_at: set[Injection] = set()  # in a run of its own
        self._variants: defaultdict[State, list[_Variant]] = defaultdict(list)

    def take(self, evaluation: Evaluation) -> None:
        """Note the variables of a run at its checkpoints, and what acted before one."""
        if evaluation.status is Status.ERROR:
            return
        last = evaluation.fingerprints[-1].position if evaluation.fingerprints else -1
        self._merged.update((act.injection, None) for act in evaluation.acts if act.position <= last)
        if not evaluation.undeclared:
            return
        if len(evaluation.acts) == 1:
            self._looked_at.add(evaluation.acts[0].injection)
        marks = self._states.course(evaluation).marks[1:]  # without the start
        for seen in evaluation.undeclared:
            mark = marks[seen.number]
            acted = frozenset(act.injection for act in evaluation.acts if act.position <= mark.position)
            variants = self._variants[mark.state]
            equal = next((n for n, other in enumerate(variants) if other.seen.variables == seen.variables), None)
            if equal is None and len(variants) < VARIANTS_MAX:
                variants.append(_Variant(seen, acted))
            elif equal is not None and self._rank(acted) < self._rank(variants[equal].acted):
                variants[equal] = _Variant(seen, acted)

    def _rank(self, acted: Iterable[Injection]) -> tuple[int, float]:
        costs = [self._model.of(injection.operator) for injection in acted]
        return len(costs), sum(costs)

    @property
    def suspicions(self) -> list[Suspicion]:
        """Faults after which variables differ from those of a run that declared the same state.

        Each run is compared with the one whose faults differ least from its own.
        """
        found: dict[Injection, Suspicion] = {}
        several: list[tuple[list[Injection], Suspicion]] = []
        for variants in self._variants.values():
            _, *others = variants = sorted(variants, key=lambda variant: self._rank(variant.acted))
            for number, other in enumerate(others, 1):
                reference = min(variants[:number], key=lambda variant: len(variant.acted ^ other.acted))
                differing = {variable.name for variable in {*reference.seen.variables} ^ {*other.seen.variables}}
                faults = sorted(other.acted ^ reference.acted, key=str)
                if not faults:
                    continue  # the variables differ by chance, or by what earlier runs left, and not because of a fault
                suspicion = Suspicion(faults[0], other.seen.place, tuple(sorted(differing)))
                if len(other.acted) <= 1:
                    found.update((one, suspicion._replace(injection=one)) for one in faults if one not in found)
                else:
                    several.append((faults, suspicion))
        for faults, suspicion in several:
            unclear = [one for one in faults if one not in self._looked_at]
            if not found.keys() & faults:
                found.update((one, suspicion._replace(injection=one)) for one in unclear or faults)
        return list(found.values())

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The variables that differed at merged checkpoints, each with the checkpoint that shows it first."""
        places: dict[str, str] = {}
        for suspicion in self.suspicions:
            for name in suspicion.names:
                places.setdefault(name, suspicion.place)
        return tuple(f"{name} (checkpoint {place!r})" for name, place in places.items())

    def choose(self, count: int, told: TrialLog) -> list[Schedule]:
        """Return chains that have not been run yet.

        Args:
            count: How many at most, of those below suspicious merges; half as many are added below all others.
            told: All runs.
        """
        contexts, suspicions = self._contexts(told), self.suspicions
        walks = [self._walk(contexts, group, told) for group in self._groups(suspicions)]
        if len(suspicions) > 1:
            walks.append(self._walk_of_several(contexts, [one.injection for one in suspicions], told))
        chosen: dict[Schedule, None] = {}
        while walks and len(chosen) < count:
            for walk in list(walks):
                chain = next((chain for chain in walk if chain not in chosen), None)
                if chain is None:
                    walks.remove(walk)
                elif len(chosen) < count:
                    chosen[chain] = None
        small = () if suspicions else islice(self._small(told), count // SMALL_SHARE)
        return list(dict.fromkeys([*chosen, *small, *islice(self._packs(contexts, told), count // 2)]))

    def choose_further(self, count: int, told: TrialLog, *, cost_max: float) -> list[Schedule]:
        """Return small combinations of suspicious faults, each to be run exactly as it is; none without suspicion.

        First come faults of which no run has shown alone whether they are suspicious, too.

        Args:
            count: How many at most.
            told: All runs.
            cost_max: What they may cost, as long as that is within the budget.
        """
        faults = [suspicion.injection for suspicion in self.suspicions]
        cost_max = min(cost_max, self._budget)
        found = list(islice(self._combinations.of(faults, told, cost_max=cost_max), count))
        if not found:
            return []
        singles = self._combinations.alone(self._merged, told, cost_max=cost_max)
        alone = list(islice((one for one in singles if self._states.foretold(one) is not None), count))
        return list(dict.fromkeys([*alone, *found]))[:count]

    def _small(self, told: TrialLog) -> Iterator[Schedule]:
        """Yield small combinations of faults that leave nothing behind in the declared state, in no special order."""
        combined = self._combinations.of(self._states.quiet(), told, cost_max=self._budget)
        return (one for one in combined if self._states.foretold(one) is not None)

    def _packs(self, contexts: Sequence[Schedule], told: TrialLog) -> Iterator[Schedule]:
        """Yield chains of many faults that leave nothing behind in the declared state, until each was in one.

        They may cost more than the budget: whatever contradicts a prediction shows that checkpoints are incomplete.
        """
        tries = TRIES_MAX
        quiet = sorted(self._states.quiet(), key=str)[:TRIES_MAX]
        for context in contexts:
            left = quiet
            while left and tries > 0:
                chain, later = context, list[Injection]()
                tries -= len(left)
                for fault in left:
                    further = with_fault(chain, fault)
                    if further is not None and self._states.foretold(further) is not None:
                        chain = further
                    else:
                        later.append(fault)
                if len(later) == len(left):
                    break  # none of them fits into this context
                left = later
                if chain not in told:
                    yield chain

    def _groups(self, suspicions: Iterable[Suspicion]) -> list[list[Injection]]:
        """Return the faults to combine with other runs; those with the same undeclared variables together."""
        groups: defaultdict[tuple[str, ...], list[Injection]] = defaultdict(list)
        for suspicion in suspicions:
            groups[suspicion.names].append(suspicion.injection)
        cheapest = [sorted(group, key=self._cost_and_text)[:FAULTS_MAX] for group in groups.values()]
        return cheapest[:GROUPS_MAX]

    def _cost_and_text(self, injection: Injection) -> tuple[float, str]:
        return self._model.of(injection.operator), str(injection)

    def _contexts(self, told: TrialLog) -> list[Schedule]:
        """Return the cheapest run to each last state; first those whose faults left most behind in it."""
        cheapest: dict[State, tuple[float, str, Schedule]] = {}
        for run in told:
            if run.status is Status.ERROR or run.effective != run.schedule or run.ending not in TOLD_BY_STATE:
                continue
            last = self._states.course(run).marks[-1].state
            rank = (run.schedule.declared_cost(self._model), str(run.schedule), run.schedule)
            if last not in cheapest or rank[:2] < cheapest[last][:2]:
                cheapest[last] = rank
        ranked = sorted(cheapest.items(), key=lambda item: (-self._carried(item[0]), shuffle_key(item[1][1])))
        return [schedule for _, (_, _, schedule) in ranked[:CONTEXTS_MAX]]

    def _carried(self, state: State) -> int:
        path = self._states.path(state)
        return 0 if path is None else len(path.injections)

    def _walk(self, contexts: Sequence[Schedule], group: Sequence[Injection], told: TrialLog) -> Iterator[Schedule]:
        """Yield the chains of one fault each, by the runs that they are combined with."""
        for context in contexts:
            for injection in group:
                chain = self._joined(context, injection)
                if chain is not None and self._is_predicted(chain, told):
                    yield chain

    def _walk_of_several(
        self, contexts: Sequence[Schedule], faults: Iterable[Injection], told: TrialLog
    ) -> Iterator[Schedule]:
        """Yield chains of as many faults as the budget allows."""
        suspicious = sorted(faults, key=self._cost_and_text)
        for context in contexts:
            chain = context
            for injection in suspicious:
                chain = self._joined(chain, injection) or chain
            if self._is_predicted(chain, told):
                yield chain

    def _joined(self, context: Schedule, injection: Injection) -> Schedule | None:
        """Return a schedule with one more fault; `None` if it does not fit or is too expensive."""
        chain = with_fault(context, injection)
        if chain is None or chain.declared_cost(self._model) > self._budget + COST_TOLERANCE:
            return None
        return chain

    def _is_predicted(self, chain: Schedule, told: TrialLog) -> bool:
        return chain not in told and self._states.foretold(chain) is not None
