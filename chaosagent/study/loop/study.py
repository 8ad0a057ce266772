"""The loop of a study: searches side by side, then minimising, confirming and certifying what they found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from chaosagent.canonical import DIGEST_BYTES
from chaosagent.clock import monotonic
from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.errors import SearcherError, StudyError
from chaosagent.execution.workers.executor import Executor
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.confirmation import FreshRuns
from chaosagent.study.counterexample import Counterexample, Signature, signature_of
from chaosagent.study.determinism.cold_repeats import ColdRepeats
from chaosagent.study.determinism.determinism import DETERMINISTIC, compare_with, examine
from chaosagent.study.determinism.repeats import Repeats
from chaosagent.study.evaluator import Evaluator, TaskSeed
from chaosagent.study.loop.build_certificate import (
    build_certificate,
    contradicted_tasks,
    is_injectable,
    share_contradictions,
    without_contradicted_proofs,
)
from chaosagent.study.loop.gc_pause import rare_full_collections
from chaosagent.study.loop.resume_state import NOTHING_EARLIER, ResumeState
from chaosagent.study.loop.search import Search
from chaosagent.study.loop.search_group import SearchGroup, expect_chance
from chaosagent.study.loop.trace_rerunner import TraceRerunner
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress, StudyResult, without_disproved_claims
from chaosagent.study.shrinking.minimise import Rerun, minimise, necessity_of
from chaosagent.study.sink import Sink, Sinks
from chaosagent.study.trial import Trial
from chaosagent.vocabulary import ClockKind, Severity

ERRORS_MIN = 20
REPORT_SECONDS = 0.05


class Study:
    """One study.

    Args:
        plan: The plan of the study.
        executor: Executes the runs.
        sinks: Receive trials, results and progress.
        groups_max: How many (task, seed) pairs are searched at a time; results do not depend on it.
        elsewhere: Starts second process number N, with another hash seed, for repeats; without it all runs happen here.
        earlier: The state of earlier sessions; their runs are not executed again.
    """

    def __init__(
        self,
        plan: Plan,
        executor: Executor,
        *,
        sinks: Sequence[Sink] = (),
        groups_max: int = 1,
        elsewhere: Callable[[int], Executor] | None = None,
        earlier: ResumeState = NOTHING_EARLIER,
    ) -> None:
        self._plan, self._sinks, self._groups_max = plan, Sinks(sinks), groups_max
        self._executor, self._elsewhere, self._earlier = executor, elsewhere, earlier
        depth = Fingerprinting.STATE_AND_HISTORY if plan.space.reads_history else Fingerprinting.STATE
        self._workbench = plan.workbench()
        self._evaluator = Evaluator(executor, depth, self._sinks.executed, self._sinks.differed, self._workbench.hung)
        self._evaluator.in_real_time = plan.target.clock is ClockKind.WALL
        self._evaluator.unlike.update(earlier.unlike)
        for at, evaluation in earlier.evaluations:
            self._evaluator.remember(at, evaluation)
        self._repeats = Repeats(self._evaluator)
        self._fresh = FreshRuns(self._evaluator, self._sinks.drawn, self._sinks.judged, earlier.drawn, plan.lookahead)
        self._progress = StudyProgress()
        self._told_sum = 0
        self._checked: set[TaskSeed] = set()
        self._started = monotonic() - earlier.seconds
        self._reported, self._interrupted = float("-inf"), False
        self._nature = DETERMINISTIC
        self._costs: list[float] = []
        self._afresh = TraceRerunner(plan, self._workbench, self._evaluator)
        self._cold_repeats = ColdRepeats(
            self._evaluator, elsewhere, self._afresh.nominal_of, fresh=plan.fresh, on_progress=self._report_repeats
        )

    def run(self) -> StudyResult:
        """Search until every search has ended or a limit is reached.

        An interrupt (Ctrl-C) ends open searches; their violations are reported, but not minimised. The limit in seconds
        ends them, too, but their violations are minimised.

        Raises:
            StudyError: The target is not deterministic, or more than the declared share of runs ended as errors.
            SearcherError: The searcher raised or returned something invalid; sinks have received what was found.
        """
        with rare_full_collections(), contextlib.closing(self._cold_repeats):
            return self._run()

    def _run(self) -> StudyResult:
        groups = self._groups()
        results: list[SearchResult] = []
        groups_over = 0
        try:
            self._examine([group[0].at for group in groups])
            for start in range(0, len(groups), self._groups_max):
                together = groups[start : start + self._groups_max]
                if self._nature.stochastic:
                    expect_chance(together, self._plan, self._evaluator, self._fresh)
                self._search_all(together)
                self._repeat(together)
                for group in together:
                    results.extend(self._finish(group))
                    groups_over += 1
                    self._evaluator.forget(group[0].at)
            results = self._withdrawn(results)
        except KeyboardInterrupt:
            self._interrupted = True
            self._executor.drop_waiting()
            self._evaluator.abandon()
            for group in groups[groups_over:]:
                share_contradictions(group)
                results.extend(self._finish(group))
        except SearcherError:
            self._keep_found(groups[groups_over:])
            raise
        return StudyResult(
            searches=without_disproved_claims(self._withdrawn(results)),
            trials=self._progress.trials,
            executions=self._evaluator.executions,
            errors=self._evaluator.errors,
            unused_earlier=self._evaluator.unused_earlier,
            digest=f"{self._told_sum:0{2 * DIGEST_BYTES}x}",
            seconds=monotonic() - self._started,
            cold_repeats=self._cold_repeats.runs,
            cold_seconds=self._cold_repeats.seconds,
            interrupted=self._interrupted,
            nature=self._nature,
            unlike=self._evaluator.diverged,
        )

    def _keep_found(self, groups: Iterable[Sequence[Search]]) -> None:
        """Tell what was found in searches that a broken searcher has ended, as after an interrupt."""
        self._interrupted = True
        self._executor.drop_waiting()
        self._evaluator.abandon()
        for group in groups:
            if any(search.found.count for search in group):
                self._finish(group)

    def _examine(self, places: list[TaskSeed]) -> None:
        """Find out whether the target is deterministic, and freeze its answers if it is not."""
        self._progress.current = "checking that runs repeat"
        self._report([])
        begun_as = self._earlier.stochastic
        known = self._plan.stochastic if begun_as is None else begun_as
        with contextlib.ExitStack() as stack:
            elsewhere = None if self._elsewhere is None else self._elsewhere(0)
            if elsewhere is not None:
                stack.callback(elsewhere.close)
            self._nature = examine(places, self._workbench, elsewhere, stochastic=known)
        for at in places:
            self._evaluator.note_written(at.task_id, self._workbench.written_in(at.task_id))
        if self._nature.stochastic and self._plan.answers is None:
            raise StudyError(
                f"the target is stochastic: {self._nature.reason}. Its answers have to be frozen in a file that the "
                "processes of one machine share (Plan.answers), so it cannot be searched on a cluster: leave out "
                "--ray-address."
            )
        self._evaluator.answering = self._afresh.answering = self._nature.answering
        self._progress.stochastic = self._nature.stochastic
        self._sinks.examined(self._nature)

    def _repeat(self, groups: Iterable[Sequence[Search]]) -> None:
        """Run again some of what was searched, so that what does not repeat is not called proved."""
        for group in groups:
            self._repeats.repeat_nominal(group[0].at)
        for group in groups:
            at = group[0].at
            claims = [search for search in group if search.progress.level != "C0"]
            found = [one.schedule for search in claims for one in (search.found.best, *search.found.minimal) if one]
            if claims:
                self._repeats.repeat_faulty(at, found, hurried=self._out_of_time)
                self._cold_repeats.repeat(at, found, hurried=self._out_of_time)
            self._repeats.drain()
            if not self._out_of_time:
                self._cold_repeats.explain(at)

    def _withdrawn(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results without the proofs of what a later run has refuted, and tell those once more."""
        kept, contradicted = [], contradicted_tasks(results)
        for result in results:
            certificate = without_contradicted_proofs(result, contradicted)
            if certificate.reproduced and self._evaluator.diverged_in(result.task_id):
                certificate = certificate.withdrawn
            if certificate != result.certificate:
                found = tuple(self._certified(one, certificate) for one in result.counterexamples)
                result = replace(result, certificate=certificate, counterexamples=found)
                self._sinks.search_over(result)
            kept.append(result)
        return kept

    def _groups(self) -> list[list[Search]]:
        """Return the searches by task and seed; soft contracts are checked in every run, but not searched."""
        groups = [
            [
                Search(self._plan, TaskSeed(task.id, seed), contract, monitor, self._signature)
                for monitor, contract in enumerate(self._plan.contracts)
                if contract.severity is Severity.HARD
            ]
            for task in self._plan.tasks
            for seed in self._plan.seeds
        ]
        self._progress.searches = sum(len(group) for group in groups)
        return [group for group in groups if group]

    def _search_all(self, groups: Sequence[Sequence[Search]]) -> None:
        """Let searches go on side by side until all have ended and their certificates are audited."""
        searches = [search for group in groups for search in group]
        over_before, left = self._progress.searches_over, groups
        while left:
            under_way = [SearchGroup(group, self._note) for group in left]
            active = [search for group in left for search in group]
            while active:
                if self._out_of_time:
                    self._executor.drop_waiting()
                    self._evaluator.abandon()
                    for search in active:
                        search.stop()
                moved = [together.advance(self._evaluator) for together in under_way]
                if not any(moved):
                    if not self._evaluator.anything_out:
                        active[0].searcher.refuse_waiting()
                    self._evaluator.wait()
                active = [search for together in under_way for search in together.active]
                self._progress.searches_over = over_before + len(searches) - len(active)
                self._report(active, searches)
            left = [again for group in groups if (again := share_contradictions(group))]

    @property
    def _out_of_time(self) -> bool:
        seconds_max = self._plan.limits.seconds_max
        return seconds_max is not None and monotonic() - self._started > seconds_max

    def _note(self, search: Search, trial: Trial) -> None:
        self._progress.trials += 1
        evaluation, at = trial.evaluation, search.at
        if trial.schedule == EMPTY and at not in self._checked:
            self._checked.add(at)
            compare_with(self._workbench, at, self._nature.answering, evaluation)
        told = trial.hashed([at.task_id, str(at.seed), search.contract.id])
        self._told_sum = (self._told_sum + told) % 256**DIGEST_BYTES
        self._sinks.trial(at, search.contract.id, trial)
        share, heard = self._plan.limits.error_share_max, search.trials + search.heard
        if search.errors >= ERRORS_MIN and search.errors > share * heard:
            raise StudyError(
                f"task {at.task_id!r}, seed {at.seed}: {search.errors} of the {heard} trials for "
                f"{search.contract.id} ended as errors, more than the share of {share:g} that the study allows "
                f"(error_share). The last one: {evaluation.error}"
            )

    def _report(self, active: Sequence[Search], together: Sequence[Search] = ()) -> None:
        """Tell the sinks how far the study is, but not after every trial: that would cost more than some trials."""
        now = monotonic()
        if active and now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        progress = self._progress
        progress.executions, progress.errors = self._evaluator.executions, self._evaluator.errors
        progress.seconds = now - self._started
        found = [search.found for search in together if search.found.count]
        progress.found = len(self._costs) + sum(one.count for one in found)
        progress.best_cost = min([*self._costs, *(one.best_cost for one in found)], default=None)
        if active:
            at = active[0].at
            progress.current = f"{at.task_id}, seed {at.seed}: {', '.join(search.contract.id for search in active)}"
            progress.lower_bound = min(search.lower_bound for search in active)
        self._sinks.progress(progress)

    def _report_repeats(self, made: int, total: int) -> None:
        self._progress.repeats = (made, total) if made < total else None
        self._progress.seconds = monotonic() - self._started
        self._sinks.progress(self._progress)

    def _finish(self, group: Sequence[Search]) -> list[SearchResult]:
        """Return how the searches of one task and seed ended; what did not repeat in one of them is proved in none."""
        found = [self._counterexamples(search) for search in group]
        results = [self._result(search, known) for search, known in zip(group, found, strict=True)]
        for result in results:
            self._sinks.search_over(result)
        self._afresh.forget()
        return results

    def _counterexamples(self, search: Search) -> tuple[Counterexample, ...]:
        """Minimise what a search found, and tell it, cheapest first."""
        found, contract, space = search.found, search.contract.id, self._plan.space
        if found.best is None or found.violated_nominally:
            return ()
        smallest = found.best
        if not build_certificate(search).certified and not self._interrupted:
            smallest = minimise(smallest, contract, space, self._rerun(search, smallest))
            found.keep_best(smallest)
            if found.violated_nominally:
                return ()  # a searcher that never asked for the run without injections
        if not self._plan.wants_several:
            return self._shown(search, [found.best])
        found.keep_minimal(smallest)
        if not (self._interrupted or found.satisfied):
            for violation in found.proved_minimal(search.lower_bound):  # the search ended before it came to them
                found.keep_minimal(minimise(violation, contract, space, self._rerun(search, violation)))
        return self._shown(search, found.minimal)

    def _shown(self, search: Search, violations: Sequence[Evaluation]) -> tuple[Counterexample, ...]:
        """Return counterexamples of violations, without those that fresh runs have not repeated."""
        return tuple(filter(None, (self._counterexample(search, violation) for violation in violations)))

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
        self._costs.append(cost)
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
        )

    def _signature(self, at: TaskSeed, contract: Contract, schedule: Schedule) -> Signature:
        """Return what kind of failure a violation is, before its search is over; its run is kept until then."""
        return signature_of(self._afresh.keep(at, schedule).trace, contract.id, contract.severity, schedule)

    def _certificate(self, search: Search) -> Certificate:
        repeatable = not self._evaluator.diverged_in(search.at.task_id)
        draw = not (self._interrupted or self._out_of_time)
        anyway = None if search.racer is None else search.racer.broken_anyway(draw=draw)
        return build_certificate(
            search,
            reproduced=repeatable,
            frozen=self._nature.stochastic,
            broken_anyway=anyway,
            reads=self._repeats.told_of(search.at.task_id),
            cold_repeats=self._cold_repeats.evidence_of(search.at, interrupted=self._interrupted),
            written=self._evaluator.written_in(search.at.task_id),
            tied=self._evaluator.tied[search.at._replace(world=0)],
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
            doubtful=(*(() if search.racer is None else search.racer.doubtful), *search.found.doubtful),
            above_budget=None if search.racer is not None else search.found.above_budget,
        )

    def _certified(self, found: Counterexample, certificate: Certificate) -> Counterexample:
        """Return a counterexample with its final certificate; where runs diverged, confirm it by fresh runs."""
        if self._plan.wants_several:
            certificate = replace(certificate, cost=found.cost)
        at, told = TaskSeed(found.task_id, found.seed), found.confirmation
        may_draw = told is None and not (self._interrupted or self._nature.stochastic)
        if may_draw and self._evaluator.diverged_in(at.task_id):
            told = self._fresh.confirm(at, found.schedule, found.contract, self._plan.rates)
        shown = found.necessity if certificate.reproduced else ()  # a run that chance decides shows nothing
        return replace(found, certificate=certificate, confirmation=told, necessity=shown)
