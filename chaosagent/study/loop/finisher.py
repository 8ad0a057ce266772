"""Minimises, repeats, confirms and certifies the violations that searches have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.fresh_runs import FreshRuns
from chaosagent.study.counterexample import Counterexample, Signature, signature_of
from chaosagent.study.determinism.cold_repeats import ColdRepeats
from chaosagent.study.determinism.determinism import DETERMINISTIC
from chaosagent.study.determinism.repeats import Repeats
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.build_certificate import (
    build_certificate,
    contradicted_tasks,
    is_injectable,
    without_contradicted_proofs,
)
from chaosagent.study.loop.deadline import Deadline, TimeIsUp
from chaosagent.study.loop.search import Search
from chaosagent.study.loop.trace_rerunner import TraceRerunner
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.shrinking.minimise import Rerun, minimise, necessity_of
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed


class Finisher:
    """Turns ended searches into results.

    Args:
        plan: Of the study.
        evaluator: Knows what was run.
        afresh: Runs counterexamples once more, for their traces.
        fresh: Makes fresh runs of schedules of a stochastic target.
        cold_repeats: Repeats runs in processes of their own.
        deadline: Of the study.
        sink: Receives the results.

    Attributes:
        costs: Of the counterexamples so far.
        interrupted: The study was: nothing is minimised or repeated any more, and soon nothing is shown.
        nature: Whether the target is deterministic.
    """

    def __init__(
        self,
        plan: Plan,
        evaluator: Evaluator,
        afresh: TraceRerunner,
        fresh: FreshRuns,
        *,
        cold_repeats: ColdRepeats,
        deadline: Deadline,
        sink: Sink,
    ) -> None:
        self._plan, self._evaluator, self._afresh, self._fresh = plan, evaluator, afresh, fresh
        self._repeats, self._cold_repeats = Repeats(evaluator), cold_repeats
        self._deadline, self._sink = deadline, sink
        self.costs: list[float] = []
        self.interrupted = False
        self.nature = DETERMINISTIC

    def repeat(self, groups: Sequence[Sequence[Search]]) -> None:
        """Run again some of what was searched, so that what does not repeat is not called proved.

        Args:
            groups: All searches of a task, by seed.
        """
        for group in groups:
            self._repeats.repeat_nominal(group[0].at)
        for group in groups:
            at = group[0].at
            claims = [search for search in group if search.progress.level != "C0"]
            found = [one.schedule for search in claims for one in (search.found.best, *search.found.minimal) if one]
            if claims:
                self._repeats.repeat_faulty(at, found, hurried=self._deadline.near)
                self._cold_repeats.repeat(at, found, hurried=self._deadline.near)
            self._repeats.drain(at)
            if not self._deadline.near:
                self._cold_repeats.explain(at)

    def settled(self, task_id: str, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results of all searches of a task once all repeats of its runs have ended: they are final.

        Minimising has made further runs, some of which are repeated, too.
        """
        self._repeats.drain(TaskSeed(task_id, results[0].seed))
        return self.withdrawn(results)

    def withdrawn(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results without the proofs of what a later run has refuted, and tell those once more."""
        kept, contradicted = [], contradicted_tasks(results)
        for result in results:
            certificate = without_contradicted_proofs(result, contradicted)
            if certificate.reproduced and self._evaluator.diverged_in(result.task_id):
                certificate = certificate.withdrawn
            if certificate != result.certificate:
                found = tuple(self._certified(one, certificate) for one in result.counterexamples)
                result = replace(result, certificate=certificate, counterexamples=found)
                self._sink.search_over(result)
            kept.append(result)
        return kept

    def finish(self, group: Sequence[Search]) -> list[SearchResult]:
        """Return how the searches of one task and seed ended; what did not repeat in one of them is proved in none."""
        found = [self._counterexamples(search) for search in group]
        results = [self._result(search, known) for search, known in zip(group, found, strict=True)]
        for result in results:
            self._sink.search_over(result)
        self._afresh.forget(group[0].at)
        return results

    def _counterexamples(self, search: Search) -> tuple[Counterexample, ...]:
        """Minimise what a search found, and tell it, cheapest first."""
        found, contract, space = search.found, search.contract.id, self._plan.space
        if found.best is None or found.violated_nominally:
            return ()
        smallest = found.best
        if not build_certificate(search).certified and not self.interrupted:
            smallest = minimise(smallest, contract, space, self._rerun(search, smallest))
            found.keep_best(smallest)
            if found.violated_nominally:
                return ()  # a searcher that never asked for the run without injections
        if not self._plan.wants_several:
            return self._shown(search, [found.best])
        found.keep_minimal(smallest)
        if not (self.interrupted or found.satisfied):
            for violation in found.proved_minimal(search.lower_bound):  # the search ended before it came to them
                found.keep_minimal(minimise(violation, contract, space, self._rerun(search, violation)))
        return self._shown(search, found.minimal)

    def _shown(self, search: Search, violations: Sequence[Evaluation]) -> tuple[Counterexample, ...]:
        """Return counterexamples of violations, without those that fresh runs have not repeated."""
        if not self.interrupted:
            return tuple(filter(None, (self._counterexample(search, violation) for violation in violations)))
        shown = []
        for violation in violations:
            try:
                with self._deadline.interrupted_showing():
                    shown.append(self._counterexample(search, violation))
            except TimeIsUp:
                search.found.unshown += 1
        return tuple(filter(None, shown))

    def _rerun(self, search: Search, found: Evaluation) -> Rerun:
        """Return how schedules are run in the world in which a violation was seen."""
        at = search.at_of(found.effective)
        return lambda schedule: search.judged(self._evaluator.evaluate(at, schedule), at.world)

    def _counterexample(self, search: Search, best: Evaluation) -> Counterexample | None:
        """Run what was found afresh, and list why each injection is necessary."""
        plan, at, contract, rerun = self._plan, search.at_of(best.effective), search.contract, self._rerun(search, best)
        minimal, fresh, cost, is_reproduced, doubtful = self._afresh.show(at, best, contract.id, rerun)
        if doubtful is not None:
            search.found.drop(best, doubtful)
            return None
        self.costs.append(cost)
        return Counterexample(
            task_id=at.task_id,
            seed=at.seed,
            config=plan.config.name,
            contract=contract.id,
            schedule=minimal,
            cost=cost,
            trace=fresh.trace,
            nominal=self._afresh.nominal_of(at) or Nominal(),
            signature=signature_of(fresh.trace, contract.id, contract.severity, minimal),
            necessity=necessity_of(minimal, contract.id, rerun),
            certificate=self._certificate(search),
            confirmed=is_reproduced,
            answers=self._afresh.answers(at, fresh),
            confirmation=None if search.racer is None else search.racer.confirmation_of(minimal),
            undisturbed=self._afresh.undisturbed(at),
            world=at.world,
        )

    def signature(self, at: TaskSeed, contract: Contract, schedule: Schedule) -> Signature:
        """Return what kind of failure a violation is, before its search is over; its run is kept until then."""
        return signature_of(self._afresh.keep(at, schedule).trace, contract.id, contract.severity, schedule)

    def _certificate(self, search: Search) -> Certificate:
        repeatable = not self._evaluator.diverged_in(search.at.task_id)
        draw = not (self.interrupted or self._deadline.near)
        anyway = None if search.racer is None else search.racer.broken_anyway(draw=draw)
        return build_certificate(
            search,
            reproduced=repeatable,
            frozen=self.nature.stochastic,
            broken_anyway=anyway,
            reads=self._repeats.told_of(search.at.task_id),
            cold_repeats=self._cold_repeats.evidence_of(search.at, interrupted=self.interrupted),
            written=self._evaluator.written.of(search.at.task_id),
            tied=self._evaluator.tied[search.at.of_study],
        )

    def _result(self, search: Search, found: tuple[Counterexample, ...]) -> SearchResult:
        nominal = self._afresh.nominal_of(search.at)
        certificate = self._certificate(search)
        return SearchResult(
            task_id=search.at.task_id,
            seed=search.at.seed,
            contract=search.contract.id,
            trials=search.trials,
            violated_nominally=search.found.violated_nominally,
            counterexamples=tuple(self._certified(one, certificate) for one in found),
            certificate=certificate,
            injectable=is_injectable(self._evaluator.known(search.at, EMPTY), self._plan),
            effect_count=0 if nominal is None else len(nominal.effects),
            unreduced=len(search.found.unreduced) if self._plan.wants_several else 0,
            unshown=search.found.unshown,
            doubtful=(*(() if search.racer is None else search.racer.doubtful), *search.found.doubtful),
            above_budget=None if search.racer is not None else search.found.above_budget,
        )

    def _certified(self, found: Counterexample, certificate: Certificate) -> Counterexample:
        """Return a counterexample with its final certificate; where runs diverged, confirm it by fresh runs."""
        if self._plan.wants_several:
            certificate = replace(certificate, cost=found.cost)
        at, told = TaskSeed(found.task_id, found.seed), found.confirmation
        may_draw = told is None and not (self.interrupted or self.nature.stochastic)
        if may_draw and self._evaluator.diverged_in(at.task_id):
            told = self._fresh.confirm(at, found.schedule, found.contract, self._plan.rates)
        shown = found.necessity if certificate.reproduced else ()  # a run that chance decides shows nothing
        return replace(found, certificate=certificate, confirmation=told, necessity=shown)
