"""The loop of a study: all searches side by side, and the results of those that have ended."""

from __future__ import annotations

import contextlib
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from chaosagent.canonical import DIGEST_BYTES
from chaosagent.clock import monotonic
from chaosagent.contracts.contract import Contract
from chaosagent.errors import SearcherError, StudyError
from chaosagent.execution.workers.executor import Executor
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.study.chance.fresh_runs import FreshRuns
from chaosagent.study.determinism.cold_repeats import ColdRepeats
from chaosagent.study.determinism.determinism import advise, compare_with, examine
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.levels import Levels
from chaosagent.study.loop.asked_before import NO_TRIALS, AskedBefore
from chaosagent.study.loop.build_certificate import share_contradictions
from chaosagent.study.loop.deadline import TimeIsUp, deadline_of
from chaosagent.study.loop.finished_tasks import FinishedTasks, costs_of, with_doors
from chaosagent.study.loop.finisher import Finisher
from chaosagent.study.loop.gc_pause import rare_full_collections
from chaosagent.study.loop.remarks import remarks_of
from chaosagent.study.loop.reporter import Reporter, Work
from chaosagent.study.loop.resume_state import NOTHING_EARLIER, ResumeState
from chaosagent.study.loop.search import Search
from chaosagent.study.loop.search_group import SearchGroup, speculate
from chaosagent.study.loop.shares import Shares
from chaosagent.study.loop.trace_rerunner import TraceRerunner
from chaosagent.study.memory.spill import Spill
from chaosagent.study.plan import ABREAST, Plan
from chaosagent.study.result import SearchResult, StudyResult, TaskTally, without_disproved_claims
from chaosagent.study.sink import Sink, Sinks
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.vocabulary import ClockKind, Severity

ERRORS_MIN = 20
REPORT_READ = 256
"""After so many runs of earlier sessions a study says how far it is; what it reads takes time."""


class Study:
    """One study.

    Args:
        plan: The plan of the study.
        executor: Executes the runs.
        sinks: Receive trials, results and progress.
        elsewhere: Starts second process number N, with another hash seed, for repeats; without it all runs happen here.
        earlier: The state of earlier sessions; their runs are not executed again.
    """

    def __init__(
        self,
        plan: Plan,
        executor: Executor,
        *,
        sinks: Sequence[Sink] = (),
        elsewhere: Callable[[int], Executor] | None = None,
        earlier: ResumeState = NOTHING_EARLIER,
    ) -> None:
        self._plan, self._sinks = plan, Sinks(sinks)
        self._elsewhere, self._earlier = elsewhere, earlier
        depth = Fingerprinting.STATE_AND_HISTORY if plan.space.reads_history else Fingerprinting.STATE
        self._workbench = plan.workbench()
        spill = None if plan.target.secrets else Spill()  # what is secret is not to be on any disk
        self._evaluator = Evaluator(
            executor, depth, self._executed, self._sinks.differed, self._workbench.hung, spill=spill, seeds=plan.seeds
        )
        self._evaluator.in_real_time = plan.target.clock is ClockKind.WALL
        self._evaluator.unlike.update(earlier.unlike)
        self._fresh = FreshRuns(self._evaluator, self._sinks.drawn, self._sinks.judged, earlier.drawn, ABREAST)
        self._over = FinishedTasks(plan, earlier.finished, self._sinks.noting, repeats_elsewhere=elsewhere is not None)
        self._tallies: defaultdict[str, TaskTally] = defaultdict(TaskTally)
        self._checked, self._started = set[TaskSeed](), monotonic() - earlier.seconds
        self._reporter = Reporter(self._sinks.progress, earlier.counts, self._started)
        self._stopped = self._is_late = False
        self._deadline = deadline_of(plan, self._started)
        self._afresh = TraceRerunner(plan, self._workbench, self._evaluator)
        self._cold_repeats = ColdRepeats(
            self._evaluator,
            elsewhere,
            self._afresh.nominal_of,
            fresh=plan.fresh,
            on_progress=self._reporter.report_repeats,
        )
        self._finisher = Finisher(
            plan,
            self._evaluator,
            self._afresh,
            self._fresh,
            cold_repeats=self._cold_repeats,
            deadline=self._deadline,
            sink=self._sinks,
        )
        self._results: dict[TaskSeed, list[SearchResult]] = {}
        self._groups = self._make_groups()
        self._open = {group.at: group for group in self._groups}
        self._shares, self._levels = Shares(self._evaluator.queue), Levels(plan.space, plan.budget)

    def run(self) -> StudyResult:
        """Search until every search has ended or a limit is reached.

        An interrupt (Ctrl-C) ends open searches: what they found is reported, not minimised, and counted only where
        that takes more than some seconds. A second one is passed on. Limits: see `Deadline`.

        Raises:
            StudyError: The target is not deterministic, or more than the declared share of runs ended as errors.
            SearcherError: The searcher raised or returned something invalid; sinks have received what was found.
        """
        with rare_full_collections(), contextlib.closing(self._cold_repeats), self._deadline.alarmed():
            return self._run()

    def _run(self) -> StudyResult:
        results: list[SearchResult] = []
        self._deadline.interrupt_finishing()
        try:
            self._take_back()
            self._read_earlier()
            self._examine([group.at for group in self._groups])
            self._tell_taken_back()
            self._search_all()
            results = self._finisher.withdrawn(self._results_in_order())
            self._deadline.silence()
        except KeyboardInterrupt as interrupt:
            self._deadline.silence()
            self._is_late = isinstance(interrupt, TimeIsUp)
            self._finish_at_once()
            results = self._results_in_order()
        except SearcherError:
            self._stop_at_once()
            for group in self._unfinished():
                if any(search.found.count for search in group.searches):
                    self._finisher.finish(group.searches)
            raise
        tallies, over = self._tallies.values(), self._over.tallies
        digest = sum(tally.digest_sum for tally in tallies) % 256**DIGEST_BYTES
        return StudyResult(
            searches=without_disproved_claims(self._finisher.withdrawn(results)),
            trials=sum(tally.trials for tally in tallies),
            executions=sum(tally.executions for tally in tallies),
            taken_over=sum(tally.taken_over for tally in tallies),
            errors=self._errors,
            unused_earlier=self._evaluator.unused_earlier() + sum(tally.unused_earlier for tally in over),
            unasked=self._evaluator.speculation.dropped,
            digest=f"{digest:0{2 * DIGEST_BYTES}x}",
            seconds=monotonic() - self._started,
            cold_repeats=self._cold_repeats.runs + sum(tally.cold_repeats for tally in over),
            cold_seconds=self._cold_repeats.seconds + sum(tally.cold_seconds for tally in over),
            interrupted=self._finisher.interrupted and not self._is_late,
            out_of_time=self._is_late,
            nature=self._finisher.nature,
            unlike=advise(self._evaluator.diverged, self._plan.target),
        )

    def _finish_at_once(self) -> None:
        """Show what open searches found, as long as there is time for that."""
        self._stop_at_once()
        self._report(doing="running once more what was found; another Ctrl-C ends at once", at_once=True)
        if not self._is_late:
            self._deadline.move_to_now()
        with self._deadline.alarmed():
            for group in self._unfinished():
                share_contradictions(group.searches)
                self._results[group.at] = self._finisher.finish(group.searches)
        self._reporter.progress.doing = ""
        self._reporter.report_time()

    def _stop_at_once(self) -> None:
        """Have nothing run any more but what shows what was found."""
        self._finisher.interrupted = True
        self._evaluator.abandon()

    def _unfinished(self) -> list[SearchGroup]:
        return [group for group in self._groups if group.at not in self._results]

    def _results_in_order(self) -> list[SearchResult]:
        return [result for at in self._places for result in self._results[at]]

    def _take_back(self) -> None:
        """Take over what earlier sessions have counted and noted of the tasks that they have finished."""
        self._over.tell_space()
        for task_id, kept in self._over.taken.items():
            self._tallies[task_id] = replace(kept.tally)
            self._levels.by_task[task_id] = kept.levels
            self._finisher.costs += costs_of(kept.searches)
            self._sinks.take_back(task_id, kept.noted)

    def _read_earlier(self) -> None:
        """Read what was executed for the tasks that earlier sessions have not finished."""
        total = self._earlier.counts.executions - sum(tally.executions for tally in self._tallies.values())
        for number, (at, evaluation) in enumerate(self._earlier.evaluations(self._over.taken)):
            if not number % REPORT_READ:
                self._report(doing=f"reading the runs of earlier sessions: {number:,} of {max(number, total):,}")
            self._evaluator.remember(at, evaluation)

    def _tell_taken_back(self) -> None:
        """Tell the sinks how the searches of those tasks have ended."""
        for kept in self._over.taken.values():
            searches = with_doors(kept, self._afresh)
            self._put_results([at for at in self._places if at.task_id == kept.task_id], searches)
            for result in searches:
                self._sinks.search_over(result)

    def _put_results(self, places: Sequence[TaskSeed], results: Sequence[SearchResult]) -> None:
        for at in places:
            self._results[at] = [result for result in results if result.seed == at.seed]

    def _examine(self, places: list[TaskSeed]) -> None:
        """Find out whether the target is deterministic, and freeze its answers if it is not."""
        self._report(doing="checking that runs repeat")
        begun_as = self._earlier.stochastic
        known = self._plan.stochastic if begun_as is None else begun_as
        with contextlib.ExitStack() as stack:
            elsewhere = None if self._elsewhere is None or not places else self._elsewhere(0)
            if elsewhere is not None:
                stack.callback(elsewhere.close)
            nature = examine(places, self._workbench, elsewhere, stochastic=known)
        if begun_as and self._earlier.reason:
            nature = nature._replace(reason=self._earlier.reason)
        for at in places:
            self._evaluator.written.note(at.task_id, self._workbench.written_in(at.task_id))
        if nature.stochastic and self._plan.answers is None:
            raise StudyError(
                f"the target is stochastic: {nature.reason}. Its answers have to be frozen in a file that the "
                "processes of one machine share (Plan.answers), so it cannot be searched on a cluster: leave out "
                "--ray-address."
            )
        self._finisher.nature = nature
        self._evaluator.answering = self._afresh.answering = nature.answering
        self._reporter.progress.stochastic = nature.stochastic
        self._sinks.examined(nature)
        remarks = remarks_of(self._workbench, self._plan.space, dict.fromkeys(at.task_id for at in places))
        if remarks:
            self._sinks.remarked(remarks)

    def _make_groups(self) -> list[SearchGroup]:
        """Return the searches by task and seed; soft contracts are checked in every run, but not searched."""
        hard = [(place, one) for place, one in enumerate(self._plan.contracts) if one.severity is Severity.HARD]
        places = [TaskSeed(task.id, seed) for task in self._plan.tasks for seed in self._plan.seeds] if hard else []
        places = places[self._plan.shard.number - 1 :: self._plan.shard.of]
        self._places, self._reporter.progress.searches = places, len(places) * len(hard)
        for kept in self._over.taken.values():
            self._put_results([at for at in places if at.task_id == kept.task_id], kept.searches)
        return [
            SearchGroup([self._make_search(at, contract, place) for place, contract in hard], self._note)
            for at in places
            if at not in self._results
        ]

    def _make_search(self, at: TaskSeed, contract: Contract, monitor: int) -> Search:
        stored = self._earlier.trials(at, contract.id) if self._plan.lookahead == 1 else NO_TRIALS
        log, before = self._evaluator.log_of(at), AskedBefore(stored)
        return Search(self._plan, at, contract, monitor, self._finisher.signature, log=log, before=before)

    def _search_all(self) -> None:
        """Let searches go on side by side, and finish those of a task when all of them have ended."""
        ready, begun = deque(self._open.values()), set[TaskSeed]()
        while self._open:
            if not self._stopped:
                self._deadline.interrupt_search()
            try:
                ended = self._search_on(ready, begun)
                self._deadline.interrupt_finishing()
            except TimeIsUp:  # what is in flight is not waited for
                if self._stopped:
                    raise
                ended = None
            if ended is None:
                self._stop_searching()
                ready = deque(self._open.values())
            else:
                self._end(ended)
                self._report()

    def _search_on(self, ready: deque[SearchGroup], begun: set[TaskSeed]) -> SearchGroup | None:
        """Let searches go on until all those of a task and seed have ended; return these, `None` at the deadline."""
        while self._stopped or not self._deadline.near:
            if not ready:
                ready.extend(self._open[at] for at in self._evaluator.take_arrived() if at in self._open)
            if not ready:
                speculate(self._open.values() if self._may_speculate else (), self._evaluator)
                self._evaluator.wait()
                continue
            group = ready.popleft()
            if self._finisher.nature.stochastic and group.at not in begun:
                begun.add(group.at)
                group.expect_chance(self._plan, self._evaluator, self._fresh)
            has_moved = group.advance(self._evaluator)
            if group.over:
                return group
            if has_moved:
                ready.append(group)
            self._shares.adjust(self._open.values())
            self._report()
        return None

    def _stop_searching(self) -> None:
        """End all searches where they are."""
        self._stopped = True
        self._deadline.interrupt_finishing()
        self._evaluator.abandon()
        for group in self._open.values():
            group.stop()

    @property
    def _may_speculate(self) -> bool:
        wanted = self._plan.speculate
        is_free = self._plan.target.clock is ClockKind.VIRTUAL and not self._finisher.nature.stochastic
        return is_free if wanted is None else wanted

    def _end(self, group: SearchGroup) -> None:
        """Finish the searches of a task when those with all its seeds are over."""
        del self._open[group.at]
        self._shares.forget(group.at)
        task_id = group.at.task_id
        if any(at.task_id == task_id for at in self._open):
            return
        self._report(at_once=True)
        together = [one for one in self._groups if one.at.task_id == task_id]
        before = self._cold_repeats.runs, self._cold_repeats.seconds
        self._finisher.repeat([one.searches for one in together])
        for one in together:
            self._results[one.at] = self._finisher.finish(one.searches)
        if not self._deadline.near:
            self._keep(task_id, [one.at for one in together], *before)
        for one in together:
            self._evaluator.forget(one.at)
            one.forget()

    def _keep(self, task_id: str, places: Sequence[TaskSeed], cold_repeats: int, cold_seconds: float) -> None:
        """Have the results of a task kept, unless a limit of time had a part in them; see `_end`."""
        results = self._finisher.settled(task_id, [result for at in places for result in self._results[at]])
        self._put_results(places, results)
        tally = self._tallies[task_id]
        tally.unused_earlier = self._evaluator.unused_earlier(task_id)
        tally.cold_repeats = self._cold_repeats.runs - cold_repeats
        tally.cold_seconds = self._cold_repeats.seconds - cold_seconds
        levels, noted = self._levels.by_task[task_id], self._sinks.noted(task_id)
        is_counted = self._errors == sum(one.errors for one in self._tallies.values())
        if is_counted and not self._deadline.near:
            self._sinks.task_over(self._over.to_keep(task_id, results, tally, levels, noted))

    @property
    def _errors(self) -> int:
        """How many runs ended as errors, those of policies among them that are no runs of a schedule."""
        return self._evaluator.errors + sum(tally.errors for tally in self._over.tallies)

    def _executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        tally = self._tallies[at.task_id]
        tally.executions += 1
        tally.errors += evaluation.status is Status.ERROR
        tally.taken_over += evaluation.is_taken_over(at.seed)
        self._sinks.executed(at, evaluation)

    def _note(self, search: Search, trial: Trial) -> None:
        evaluation, at = trial.evaluation, search.at
        if trial.schedule == EMPTY and at not in self._checked:
            self._checked.add(at)
            compare_with(self._workbench, at, self._finisher.nature.answering, evaluation)
            self._levels.note_nominal(at.task_id, evaluation)
        self._levels.note_trial(at.task_id, trial.schedule)
        tally = self._tallies[at.task_id]
        tally.trials += 1
        told = trial.hashed([at.task_id, str(at.seed), search.contract.id])
        tally.digest_sum = (tally.digest_sum + told) % 256**DIGEST_BYTES
        self._sinks.trial(at, search.contract.id, trial)
        self._shares.note(at.of_study, evaluation)
        share, heard = self._plan.limits.error_share_max, search.trials + search.heard
        if search.errors >= ERRORS_MIN and search.errors > share * heard:
            raise StudyError(
                f"task {at.task_id!r}, seed {at.seed}: {search.errors} of the {heard} trials for "
                f"{search.contract.id} ended as errors, more than the share of {share:g} that the study allows "
                f"(error_share). The last one: {evaluation.error}"
            )

    def _report(self, *, doing: str = "", at_once: bool = False) -> None:
        """Tell how far the study is when it is time for that, and when no search is open.

        Args:
            doing: What it does, for people, where it does not search.
            at_once: Tell it although it may not be time: what comes next takes long.
        """
        if self._open and not (at_once or self._reporter.is_due):
            return
        active = [search for group in self._open.values() for search in group.active]
        broken = [one for group in self._unfinished() for one in group.searches if one.found.count]
        left = len(self._groups) - len(self._checked)
        work = Work(self._tallies.values(), self._errors, active, broken, self._finisher.costs, left)
        self._reporter.report(work, self._levels, doing=doing)
