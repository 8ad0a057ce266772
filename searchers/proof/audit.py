"""The audit of rules: a random sample of what they pruned, and of what lies below it, is run and compared.

Rules R2 and R3 say that what they pruned behaves like something else, its twin. Both are run; where they differ the
rule is wrong. For rule R3 chains below merges are run, too (`proof.chains`). Rule R1 says that a run in which several
injections act is, up to the last act, the run without the last one. So what R1 pruned is run with all its parts of one
injection less, and compared with the right one of these.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.proof.chains import Chains
from chaosagent.searchers.seen.points import Expander
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.study.searcher import Problem, Proposal, Purpose

SAMPLES_MAX = 64
"""How many of the pruned schedules of each rule are kept for the audit."""

BELOW_EVERY = 4
"""Every so many-th of what rule R2 pruned is audited with a further injection below it, if one fits. It is not counted
for the rule: the printed figures of an audit are about the pruned schedules themselves."""

FURTHER_TIMES = 8
"""So many times the size of the audit are run in addition where variables differed at merged checkpoints: with 16 as
many as the pairs and triples of nine faults. More would cost too much where the doubt proves groundless."""

ORDER, DRY, MERGE = "R1", "R2", "R3"
"""The rules on the order in which injections act, dry application, and equal checkpoints."""

TO_THE_LETTER = frozenset({DRY})
"""Rules by which twins are equal in all that the target does, and not only in what comes of it."""


class Sample(NamedTuple):
    """A pruned schedule, and the one that behaves alike if the rule is right.

    Attributes:
        rule: Which rule.
        schedule: What was pruned.
        twins: What it should be like; for R1, what one of which it should be like until its last act.
        below: It lies below what was pruned.
        alike_after: Whatever is added to both behind this position of the twin's run should be alike, too; `None` when
            nothing is known of that.
    """

    rule: str
    schedule: Schedule
    twins: tuple[Schedule, ...]
    alike_after: int | None = None
    below: bool = False

    @property
    def twin(self) -> Schedule:
        """The first of the twins; but for R1 there is no other."""
        return self.twins[0]


Below: TypeAlias = Callable[[Sample, random.Random], Sample]
"""Returns something that lies below a pruned schedule, with its twin; or the same where there is nothing."""


class Audit:
    """Keeps random samples of what rules prune, chooses from them, and counts what was compared.

    Attributes:
        judged: How many pruned schedules of each rule were compared with their twins.
        judged_below: How many that lie below them.
        undeclared: Variables that differed where runs were merged, when this was last looked at.

    Args:
        contract: Id of the contract that is searched.
        chains: Finds chains below merges.
    """

    def __init__(self, contract: str, chains: Chains) -> None:
        self._contract, self._chains = contract, chains
        self._asked_chains: set[Schedule] = set()
        self._kept: defaultdict[str, list[Sample]] = defaultdict(list)
        self._seen: Counter[str] = Counter()
        self._chosen: dict[Schedule, Sample] = {}
        self._rng = random.Random(0)
        self.judged: Counter[str] = Counter()
        self.judged_below = 0
        self._count = self._further_count = 0
        self.undeclared: tuple[str, ...] = ()

    def begin(self, rng: random.Random) -> None:
        """Forget what was pruned, as the search begins anew; what was compared still counts.

        Args:
            rng: From which everything is drawn from now on.
        """
        self._rng = rng
        self._kept.clear()
        self._seen.clear()
        self._chosen.clear()
        self._count = self._further_count = 0

    def slots(self, rule: str, count: int) -> list[tuple[int, int]]:
        """Return which of the schedules that a rule has just pruned are to be kept, by their numbers, and where.

        Each is kept with the same probability (reservoir sampling), and most are not: so a sample is made only then.
        """
        before, draw = self._seen[rule], self._rng.random
        self._seen[rule] = before + count
        first = min(count, max(0, SAMPLES_MAX - before))
        found = [(number, before + number) for number in range(first)]
        for number in range(first, count):
            slot = draw() * (before + number + 1)
            if slot < SAMPLES_MAX:
                found.append((number, int(slot)))
        return found

    def keep(self, slot: int, sample: Sample) -> None:
        """Keep a sample in its slot."""
        self._kept[sample.rule][slot : slot + 1] = [sample]

    def keep_converged(self, merged: Schedule, owner: Schedule, pruned: Iterable[Injection]) -> None:
        """Keep some of what rule R3 does not add to a schedule, with what its owner does with the same injection."""
        comparable = [one for one in pruned if not any(one.hook.overlaps(other.hook) for other in owner)]
        for number, slot in self.slots("R3", len(comparable)):
            injection = comparable[number]
            twins = (owner.with_injection(injection),)
            self.keep(slot, Sample("R3", merged.with_injection(injection), twins))

    def choose(self, count: int, told: TrialLog, below: Below) -> list[Proposal]:
        """Return the schedules to be run for an audit, as many for each rule.

        Args:
            count: How many are compared, over all rules; the twins that have to be run come on top.
            told: What was run.
            below: Finds what lies below.
        """
        self.undeclared, self._count = self._chains.undeclared, count
        pools = [(rule, self._pool(rule, told)) for rule in sorted(self._kept)]
        pools = sorted(((rule, pool) for rule, pool in pools if pool), key=lambda one: len(one[1]))
        chosen: list[Sample] = []
        chains: list[Schedule] = []
        for number, (rule, pool) in enumerate(pools):
            share = -(-(count - len(chosen)) // (len(pools) - number))  # what a small pool leaves goes to the others
            if rule == MERGE:
                chains = self._chains.choose(count, told)
            deeper = share // BELOW_EVERY if rule == DRY else 0
            chosen += self._rng.sample(pool, min(share - deeper, len(pool)))
            found = [below(self._rng.choice(pool), self._rng) for _ in range(deeper)]
            chosen += [sample for sample in found if sample.below]
        self._asked_chains.update(chains)
        self._chosen.update((sample.schedule, sample) for sample in chosen)
        purposes: dict[Schedule, Purpose] = {}
        for sample in chosen:
            for twin in sample.twins:
                if twin not in told:  # it was pruned itself, and must be run to be compared with
                    purposes.setdefault(twin, Purpose.CERTIFY)
            purposes[sample.schedule] = Purpose.AUDIT
        purposes.update((chain, Purpose.PROBE) for chain in chains if chain not in purposes)  # some exceed the budget
        return [Proposal(schedule, purpose) for schedule, purpose in purposes.items()]

    def choose_further(self, told: TrialLog, cost_max: float) -> list[Proposal]:
        """Return what is to be run after what was chosen before, as long as it has contradicted nothing.

        Only where runs were merged whose variables differed (`Chains.choose_further`).

        Args:
            told: What was run.
            cost_max: What is dearer is of no use.
        """
        self.undeclared = self._chains.undeclared
        count = min(self._count, FURTHER_TIMES * self._count - self._further_count)
        chains = self._chains.choose_further(count, told, cost_max=cost_max) if self._kept[MERGE] and count else []
        self._further_count += len(chains)
        self._asked_chains.update(chains)
        return [Proposal(chain, Purpose.PROBE) for chain in chains]

    @property
    def total(self) -> int:
        """How many schedules were compared."""
        return self.judged.total() + self.judged_below

    def _pool(self, rule: str, told: TrialLog) -> list[Sample]:
        """Return what is to be chosen from: of what R1 pruned, only what was not run in another order."""
        kept = self._kept[rule]
        return [sample for sample in kept if sample.schedule not in told] if rule == ORDER else kept

    def contradicted(self, told: TrialLog) -> Iterator[str]:
        """Compare what was chosen and has been run, and yield the rule of each sample that is not like its twin.

        Chains are only counted: the states notice when one does not end as predicted.
        """
        run_chains = {chain for chain in self._asked_chains if chain in told}
        self._asked_chains -= run_chains
        self.judged_below += sum(told[chain].status is Status.OK for chain in run_chains)
        for sample in list(self._chosen.values()):
            mine, twins = told.get(sample.schedule), [told.get(twin) for twin in sample.twins]
            runs = [run for run in (mine, *twins) if run is not None]
            if mine is None or len(runs) <= len(twins) or sample.schedule not in self._chosen:
                continue
            del self._chosen[sample.schedule]
            if all(run.status is Status.OK for run in runs):
                self.judged[sample.rule] += not sample.below
                self.judged_below += sample.below
                if order_is_wrong(mine, told) if sample.rule == ORDER else self._differ(sample, mine, runs[1]):
                    yield sample.rule

    def _differ(self, sample: Sample, mine: Evaluation, twin: Evaluation) -> bool:
        verdict, other = mine.verdict(self._contract), twin.verdict(self._contract)
        if mine.ending is not twin.ending or mine.success != twin.success or (verdict is None) != (other is None):
            return True
        if sample.rule in TO_THE_LETTER:
            places = {str(one.hook) for one in set(sample.schedule) ^ set(sample.twin)}
            return verdict != other or _doings(mine, places) != _doings(twin, places)
        if verdict is None or other is None:
            return False
        # The two came there on different ways, so that steps and margins may differ.
        return verdict.verdict is not other.verdict or verdict.unfair != other.unfair


def below(told: TrialLog, expander: Expander, problem: Problem, sample: Sample, rng: random.Random) -> Sample:
    """Return a sample and its twin with one more injection, which acts where the two are alike.

    Args:
        told: What was run.
        expander: Finds what could be added to the twin.
        problem: What is searched.
        sample: A pruned schedule.
        rng: Draws the injection.
    """
    twin = told.get(sample.twin)
    if sample.alike_after is None or twin is None or twin.effective != sample.twin:
        return sample
    model = problem.space.model
    left = problem.budget - sample.schedule.declared_cost(model) + COST_TOLERANCE
    further = [
        injection
        for _, _, injection in expander.expand(twin, after=max(sample.alike_after, twin.acted)).candidates
        if model.of(injection.operator) <= left
        and not any(injection.hook.overlaps(other.hook) for other in sample.schedule)
    ]
    if not further:
        return sample
    more = rng.choice(further)
    twins = (sample.twin.with_injection(more),)
    return sample._replace(schedule=sample.schedule.with_injection(more), twins=twins, below=True)


def order_is_wrong(run: Evaluation, told: TrialLog) -> bool:
    """Whether a run contradicts rule R1, as far as is known.

    Without its last act it should go the same way up to there: the same acts, and the same call at the same moment.

    Args:
        run: Any run.
        told: What other runs have shown.
    """
    if len(run.acts) < 2:
        return False
    *before, last = run.acts
    shorter = told.get(run.effective.without(last.injection))
    if shorter is None or shorter.status is Status.ERROR or len(shorter.acts) != len(shorter.effective):
        return False  # of one that hung, or for which another stands, nobody knows when what acted
    here = last.injection.place
    return [*shorter.acts] != before or not any(
        crossing.place == here and last.position in (crossing.asked, crossing.answered)
        for crossing in shorter.crossings
    )


def _doings(evaluation: Evaluation, places: Container[str]) -> list[tuple[object, ...]]:
    """Return what was asked and answered when, but for some places."""
    return [
        (crossing.place, crossing.request, crossing.response, crossing.asked_at, crossing.answered_at)
        for crossing in evaluation.crossings
        if str(crossing.place) not in places
    ]
