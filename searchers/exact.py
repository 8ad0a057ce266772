"""Uniform-cost search for the certified minimum.

A run is deterministic, so any schedule can be built by adding its injections in the order in which they act, each at a
point that the run before it has shown. Searching that tree in the order of cost executes nothing dearer than the
optimum, and what it executed proves that nothing cheaper exists. Three sound rules keep the tree small:

* R1 reach: an injection is added only behind the last one that acted;
* R2 dry application: of the operators with the same known outcome at a point only the cheapest is tried, and none that
  changes nothing;
* R3 convergence: once the fingerprint behind an injection is one that a run at the same or lower cost had, what
  follows is known.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import NamedTuple

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection
from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.points import Candidate, Expander
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Purpose, Standing
from chaosagent.vocabulary import Verdict

SAMPLES_MAX = 64


class _Sample(NamedTuple):
    """A pruned schedule, and the one that behaves alike if the rule is right (`None`: one not known by name)."""

    rule: str
    schedule: Schedule
    twin: Schedule | None


class ExactSearcher:
    """Proposes schedules in the order of their cost until the first violation, or until the budget is exhausted.

    Args:
        problem: What is searched.
        r1: Use rule R1.
        r2: Use rule R2.
        r3: Use rule R3; without fingerprints it does nothing.
        kinds_matter: The kind of a fault is part of an outcome's identity; for containment contracts.
    """

    def __init__(
        self, problem: Problem, *, r1: bool = True, r2: bool = True, r3: bool = True, kinds_matter: bool = False
    ) -> None:
        self._problem = problem
        self._rules = {"R1": r1, "R2": r2, "R3": r3}
        self._kinds_matter = kinds_matter
        self._contradictions = 0
        self._told: dict[Schedule, Evaluation] = {}
        self._restart()

    def _restart(self) -> None:
        """Begin the tree anew; what was told is kept."""
        problem = self._problem
        self._expander = Expander(problem.space, problem.seed, dry=self._rules["R2"], kinds_matter=self._kinds_matter)
        self._frontier: list[tuple[float, int, Schedule, Injection | None]] = [(0.0, 0, EMPTY, None)]
        self._made = 0
        self._asked: set[Schedule] = set()
        self._open: dict[Schedule, float] = {}
        self._seen: dict[tuple[bytes, bytes], float] = {}
        self._pruned: Counter[str] = Counter()
        self._failed_cost = self._best_cost = float("inf")
        self._audit_rng = derive(problem.search_seed, "exact", "audit", problem.contract, self._contradictions)
        self._samples: dict[str, list[_Sample]] = {"R2": [], "R3": []}
        self._audited: dict[Schedule, _Sample] = {}
        for evaluation in self._told.values():
            self._notice(evaluation)

    # ------------------------------------------------------------------ ask and tell

    def ask(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < count and self._frontier and not self._decided(self._frontier[0][0]):
            cost, _, parent, injection = heapq.heappop(self._frontier)
            schedule = parent if injection is None else parent.with_injection(injection)
            if schedule in self._asked:
                continue
            self._asked.add(schedule)
            known = self._told.get(schedule)
            if known is not None:
                self._expand(known, cost)
                continue
            self._open[schedule] = cost
            proposals.append(Proposal(schedule, Purpose.CERTIFY))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        schedule = evaluation.schedule
        known = self._told.get(schedule)
        if known is not None and known.digest != evaluation.digest:
            raise UsageError(
                f"tell({schedule}): told before with digest {known.digest or known.error!r}, now "
                f"{evaluation.digest or evaluation.error!r}. The target is not deterministic under this schedule: "
                "find what it draws outside run.rng and run.clock."
            )
        best_before = self._best_cost
        if known is None:
            self._told[schedule] = evaluation
            self._notice(evaluation)
        cost = self._open.pop(schedule, None)
        if cost is not None:
            self._expand(evaluation, cost)
        sample = self._audited.get(schedule)
        if sample is not None and self._contradicts(sample, evaluation, best_before):
            self._contradictions += 1
            self._rules[sample.rule] = False
            self._restart()

    @property
    def finished(self) -> bool:
        return not self._open and (not self._frontier or self._decided(self._frontier[0][0]))

    @property
    def standing(self) -> Standing:
        level = "C2" if self._pruned["R3"] else "C1"
        open_costs = [*self._open.values(), self._failed_cost, *(entry[0] for entry in self._frontier[:1])]
        pruned = {rule: self._pruned[rule] for rule in ("R2", "R3") if self._rules[rule]}
        return Standing(min(open_costs), level, pruned, self._contradictions)

    def audit(self, count: int) -> list[Proposal]:
        pool = [sample for rule in sorted(self._samples) for sample in self._samples[rule]]
        chosen = self._audit_rng.sample(pool, min(count, len(pool)))
        self._audited.update((sample.schedule, sample) for sample in chosen)
        return [Proposal(sample.schedule, Purpose.AUDIT) for sample in chosen]

    def _contradicts(self, sample: _Sample, evaluation: Evaluation, best_before: float) -> bool:
        """Whether a pruned schedule, when run, behaves otherwise than the rule that pruned it says."""
        if evaluation.status is Status.ERROR:
            return False
        twin = None if sample.twin is None else self._told.get(sample.twin)
        if twin is not None and twin.status is Status.OK:
            mine, other = evaluation.verdict(self._problem.contract), twin.verdict(self._problem.contract)
            return mine != other or evaluation.ending is not twin.ending or evaluation.success != twin.success
        return self._violates(evaluation) and self._cost(evaluation) < min(best_before, self.standing.lower_bound)

    # ------------------------------------------------------------------ the tree

    def _decided(self, cost: float) -> bool:
        """Whether a violation at most this dear is known already."""
        return self._best_cost <= cost

    def _cost(self, evaluation: Evaluation) -> float:
        return evaluation.effective.declared_cost(self._problem.space.model)

    def _violates(self, evaluation: Evaluation) -> bool:
        verdict = evaluation.verdict(self._problem.contract)
        return verdict is not None and verdict.verdict is Verdict.VIOLATED and not verdict.unfair

    def _notice(self, evaluation: Evaluation) -> None:
        """Keep the cost of the cheapest violation, and of the cheapest trial that could not be run."""
        if evaluation.status is Status.ERROR:
            declared = evaluation.schedule.declared_cost(self._problem.space.model)
            self._failed_cost = min(self._failed_cost, declared)
        elif self._violates(evaluation):
            self._best_cost = min(self._best_cost, self._cost(evaluation))

    def _expand(self, evaluation: Evaluation, cost: float) -> None:
        if evaluation.status is Status.ERROR or evaluation.effective != evaluation.schedule or self._decided(cost):
            return
        cutoff = self._converges_at(evaluation, cost)
        after = evaluation.acted if self._rules["R1"] else -1
        expansion = self._expander.expand(evaluation, after=after)
        affordable = self._problem.budget - cost + 10**-COST_DECIMALS / 2
        for candidate in expansion.candidates:
            if candidate.cost > affordable:
                break
            if candidate.position > cutoff:
                self._pruned["R3"] += 1
                self._sample("R3", evaluation.schedule, candidate, None)
                continue
            self._made += 1
            total = round(cost + candidate.cost, COST_DECIMALS)
            heapq.heappush(self._frontier, (total, self._made, evaluation.schedule, candidate.injection))
        for pruned in expansion.pruned:
            if pruned.candidate.cost <= affordable and pruned.candidate.position <= cutoff:
                self._pruned["R2"] += 1
                self._sample("R2", evaluation.schedule, pruned.candidate, pruned.representative)

    def _converges_at(self, evaluation: Evaluation, cost: float) -> float:
        """Return the position behind which a cheaper run is known to go the same way."""
        if not self._rules["R3"]:
            return float("inf")
        for fingerprint in evaluation.fingerprints:
            key = (fingerprint.common, fingerprint.monitors[self._problem.monitor])
            known = self._seen.get(key)
            if known is not None and known <= cost:
                return fingerprint.position
            self._seen[key] = cost
        return float("inf")

    def _sample(self, rule: str, parent: Schedule, candidate: Candidate, representative: Injection | None) -> None:
        """Keep a random sample of what a rule pruned (reservoir sampling)."""
        kept = self._samples[rule]
        slot = len(kept) if len(kept) < SAMPLES_MAX else self._audit_rng.randrange(self._pruned[rule])
        if slot >= SAMPLES_MAX:
            return
        twin = None
        if rule == "R2":
            twin = parent if representative is None else parent.with_injection(representative)
        sample = _Sample(rule, parent.with_injection(candidate.injection), twin)
        if slot == len(kept):
            kept.append(sample)
        else:
            kept[slot] = sample
