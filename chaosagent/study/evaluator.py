"""Runs the schedules of a study, each once per task and seed, on whatever executor there is.

Beside these there are runs that are made again: repeats, a sample that checks that runs repeat, and fresh draws of
stochastic targets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain

from chaosagent.execution.execute import Execution
from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.fair_queue import FairQueue
from chaosagent.execution.workers.workbench import Answering, Job, failed_evaluation
from chaosagent.faults.chance_read import ChanceRead
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.foresight import Foresight
from chaosagent.faults.online import Policy, Scores
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.divergence import Divergence, divergence_of_effective, divergence_of_repeat, is_equal_run
from chaosagent.study.memory.evaluation_log import EarlierRuns, EvaluationLog
from chaosagent.study.memory.interning import Interning
from chaosagent.study.memory.seed_sharing import SeedSharing
from chaosagent.study.memory.spill import Spill
from chaosagent.study.memory.written_files import WrittenFiles
from chaosagent.study.speculation import Speculation
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Ending

REPEATED = 64
"""One of about so many runs is repeated."""

FILES_NOTED = 256
"""So many of the first runs of a task and seed note which files they write: what they create, later ones only find."""

REPEATED_FIRST = 4
"""So many of the first runs of a task and seed in which something landed are repeated, too.

What draws by itself only behind a fault shows in them, however small the study is."""


class Evaluator:
    """Submits jobs, and keeps what they told.

    Args:
        executor: Where the runs happen.
        fingerprinting: What fingerprints cover.
        on_executed: Called with each run that was executed, in the order in which it ended.
        on_differing: Called for the first repeat of a task and seed that diverged, with how it did; once more when a
            watched run has told more of the cause.
        judge_hung: Says what contracts make of a run that the limit of real time has ended, and why it did.
        spill: Where runs go for which there is no room in memory; `None` keeps all of them there.
        seeds: Of the study, as a run that does not read its seed is made once for all of them.

    Attributes:
        queue: Shares the executor between tasks and seeds.
        speculation: Keeps what nobody has asked for yet.
        executions: Runs that the study has needed so far, those of an earlier session among them; repeats and fresh
            draws are not counted.
        errors: Of those, ended as errors.
        answering: How pure interfaces answer.
        unlike: Tasks and seeds with a repeat that diverged, and the first difference.
        divergences: The first two runs of this session that differed, by task and seed, until somebody explains them.
        reads: What watched repeats asked for that differs from run to run, by task and seed, and schedule.
        equal: How many repeats of a schedule were equal.
        written: The files that runs were seen to write, by task.
        tied: How many runs of a task and seed had a time-out and an answer at the same instant.
        in_real_time: Runs take real time, so a watched one, which is slower, is not compared with others.
    """

    def __init__(
        self,
        executor: Executor,
        fingerprinting: Fingerprinting,
        on_executed: Callable[[TaskSeed, Evaluation], None] | None = None,
        on_differing: Callable[[TaskSeed, str], None] | None = None,
        judge_hung: Callable[[Job, str], Execution] | None = None,
        *,
        spill: Spill | None = None,
        seeds: Sequence[int] = (),
    ) -> None:
        self.queue, self._fingerprinting = FairQueue(executor), fingerprinting
        self._on_executed = on_executed or (lambda *_: None)
        self._on_differing, self._judge_hung = on_differing or (lambda *_: None), judge_hung
        self._known: defaultdict[TaskSeed, EvaluationLog] = defaultdict(lambda: EvaluationLog(spill))
        self._remembered: defaultdict[TaskSeed, EarlierRuns] = defaultdict(lambda: EarlierRuns(spill))
        self._out: dict[tuple[TaskSeed, Schedule], int] = {}
        self._tickets: dict[int, tuple[TaskSeed, Schedule]] = {}
        self._repeats: dict[int, tuple[TaskSeed, Evaluation]] = {}
        self._watched: dict[int, tuple[TaskSeed, Evaluation]] = {}
        self._naming: dict[int, tuple[TaskSeed, Divergence]] = {}
        self._draws: dict[int, Callable[[Evaluation], None]] = {}
        self._plays: dict[int, tuple[TaskSeed, Policy]] = {}
        self._played: dict[tuple[TaskSeed, Policy], Evaluation] = {}
        self._foresights: dict[TaskSeed, Foresight] = {}
        self._interning, self.speculation, self.written = Interning(), Speculation(), WrittenFiles()
        self._arrived: dict[TaskSeed, None] = {}
        self._repeated: dict[TaskSeed, int] = {}
        self._submitted: Counter[TaskSeed] = Counter()
        self.executions = self.errors = self._next_ticket = 0
        self.answering, self.in_real_time = Answering.LIVE, False
        self.unlike: dict[TaskSeed, str] = {}
        self.divergences: dict[TaskSeed, Divergence] = {}
        self.reads: dict[TaskSeed, dict[Schedule, tuple[ChanceRead, ...]]] = {}
        self.equal: Counter[tuple[TaskSeed, Schedule]] = Counter()
        self.tied: Counter[TaskSeed] = Counter()
        self._by_seed = SeedSharing(seeds, self._told_by_now, self._out, self.speculation, self._may_share)

    def remember(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Take over what an earlier session of the study has executed."""
        self._remembered[at].add(evaluation)

    def unused_earlier(self, task_id: str | None = None) -> int:
        """Return how many runs of earlier sessions were not asked for again yet, of a task or of all."""
        return sum(len(kept) for at, kept in self._remembered.items() if task_id in (None, at.task_id))

    def request(self, at: TaskSeed, schedule: Schedule) -> None:
        """Have a schedule run unless it was, or is about to be."""
        key = (at, schedule)
        if schedule in self._known[at] or key in self._out:
            return
        told = self._remembered[at].take(schedule) or self._by_seed.find(at, schedule)
        if key in self._out:
            return  # it waits for the run of another seed
        told = told or self.speculation.take_told(key)
        if told is not None:
            self._keep(key, told)
            self._repeat_some(at, told)  # whether it was repeated before an earlier session ended nobody knows
            return
        ticket = self.speculation.take_ticket(key)
        ticket = self._submit(at, schedule, self.answering) if ticket is None else ticket
        self._out[key], self._tickets[ticket] = ticket, key

    def _may_share(self) -> bool:
        return self.answering is Answering.LIVE and not self.in_real_time

    def _told_by_now(self, at: TaskSeed, schedule: Schedule) -> Evaluation | None:
        known = self.known(at, schedule)
        return self._remembered[at].get(schedule) if known is None else known

    def speculate(self, at: TaskSeed, schedule: Schedule) -> bool:
        """Have a schedule run that may be requested later; return whether that was new."""
        key, known = (at, schedule), (self._known[at], self._remembered[at])
        is_begun = key in self._out or key in self.speculation or self._by_seed.is_begun(at, schedule)
        if is_begun or any(schedule in one for one in known):
            return False
        self.speculation.begin(key, self._submit(at, schedule, self.answering))
        return True

    def request_play(self, at: TaskSeed, policy: Policy) -> None:
        """Have a policy play a run, unless executed runs tell what it would do."""
        if at not in self._foresights:
            self._foresights[at] = foresight = Foresight()
            for evaluation in chain(self._known[at], self._remembered[at]):
                foresight.add(evaluation)
        foreseen = self._foresights[at].of(Scores(policy, at.seed))
        if foreseen is None:
            self._plays[self._submit(at, EMPTY, self.answering, policy)] = (at, policy)
            return
        self._played[at, policy] = self.evaluate(at, foreseen.schedule)

    def take_played(self, at: TaskSeed, policy: Policy) -> Evaluation | None:
        """Return what the run of a policy told, once, as an evaluation of what it chose; `None` while it is out."""
        return self._played.pop((at, policy), None)

    def _take_play(self, at: TaskSeed, policy: Policy, told: Evaluation) -> None:
        """Keep the run of a policy as one of the schedule that it chose, of which there may be one already."""
        key = (at, told.schedule)
        if told.schedule in self._remembered[at]:
            self.request(*key)
        known = self.known(*key)
        failed = told.status is Status.ERROR
        if failed and (known is not None or told.schedule == EMPTY):  # what it had chosen died with its worker
            self.errors += 1
        elif known is not None:
            self._compare(at, known, told)
        elif key not in self._out:
            self._keep(key, told)
            self._repeat_some(at, told)
        self._played[at, policy] = told if failed or known is None else known

    def repeat(self, at: TaskSeed, schedule: Schedule, *, watched: bool = False) -> None:
        """Have a schedule run once more, to see whether it goes the same way; see `unlike`.

        Args:
            at: Task and seed.
            schedule: What was run.
            watched: Also note what the target's code asks for that differs from run to run; see `reads`.
        """
        told = self.known(at, schedule)
        if told is None or told.status is not Status.OK:
            return
        if not watched or self.in_real_time:
            self._repeats[self._submit(at, schedule, self.answering)] = (at, told)
        if watched:
            self._watched[self._submit(at, schedule, self.answering, watched=True)] = (at, told)

    def draw(self, at: TaskSeed, schedule: Schedule, count: int, on_drawn: Callable[[Evaluation], None]) -> None:
        """Make fresh runs of a schedule, with no answer frozen.

        Args:
            at: Task and seed.
            schedule: What to run.
            count: How often.
            on_drawn: Called with what each told, as soon as it has ended.
        """
        left = count

        def take(evaluation: Evaluation) -> None:
            nonlocal left
            left -= 1
            on_drawn(evaluation)

        for _ in range(count):
            self._draws[self._submit(at, schedule, Answering.FRESH)] = take
        while left:
            self.wait(at)

    def _submit(
        self,
        at: TaskSeed,
        schedule: Schedule,
        answering: Answering,
        policy: Policy | None = None,
        *,
        watched: bool = False,
        surveyed: bool = False,
    ) -> int:
        ticket = self._next_ticket
        self._next_ticket += 1
        self._submitted[at] += 1
        is_first = self._submitted[at] <= FILES_NOTED
        job = self._job(at, schedule)._replace(answering=answering, policy=policy, watched=watched, surveyed=surveyed)
        seeds = () if watched else self._by_seed.others(at)
        self.queue.submit(ticket, job._replace(files_noted=is_first, seeds=seeds))
        return ticket

    def _job(self, at: TaskSeed, schedule: Schedule) -> Job:
        return Job(at.task_id, at.seed, schedule, self._fingerprinting, self.answering, world=at.world)

    def known(self, at: TaskSeed, schedule: Schedule) -> Evaluation | None:
        """Return what a schedule told, `None` while it is out."""
        return self._known[at].get(schedule)

    def take_arrived(self) -> list[TaskSeed]:
        """Return those whose searches may go on, as runs for them have ended since this was asked last."""
        arrived, self._arrived = list(self._arrived), {}
        return arrived

    def wait(self, urgent: TaskSeed | None = None) -> None:
        """Take the next run that ends; runs of `urgent`, which cannot continue without them, are made first."""
        finished = self.queue.next_finished(None if urgent is None else urgent[:2])
        key = self._tickets.pop(finished.ticket, None)
        self.speculation.end(finished.ticket, finished.evaluation)
        if finished.ticket in self._repeats:
            self._compare(*self._repeats.pop(finished.ticket), finished.evaluation)
        elif finished.ticket in self._watched:
            self._take_watched(*self._watched.pop(finished.ticket), finished.evaluation)
        elif finished.ticket in self._naming:
            at, divergence = self._naming.pop(finished.ticket)
            self.divergences[at.of_study] = divergence._replace(reads=finished.evaluation.reads)
            told = finished.evaluation
            self.name_cause(at, divergence.explained(told.reads, told.changed, told.written))
        elif finished.ticket in self._draws:
            drawn, on_drawn = finished.evaluation, self._draws.pop(finished.ticket)
            on_drawn(failed_evaluation(drawn.schedule, drawn.detail) if drawn.ending is Ending.HUNG else drawn)
        elif finished.ticket in self._plays:
            at, policy = self._plays.pop(finished.ticket)
            self._arrived[at.of_study] = None
            self._take_play(at, policy, finished.evaluation)
        if key is None:
            return  # no run that searches wait for, or one that was abandoned
        del self._out[key]
        self._keep(key, finished.evaluation)
        self._arrived[key[0].of_study] = None
        self._repeat_some(key[0], finished.evaluation)
        for waiting in self._by_seed.take_waiting(finished.ticket):
            self.request(*waiting)
            self._arrived[waiting[0]] = None

    def _repeat_some(self, at: TaskSeed, told: Evaluation) -> None:
        """Repeat one of about `REPEATED` runs, and the first in which something landed."""
        if told.status is not Status.OK or told.ending is Ending.HUNG:  # such a one was made twice already
            return
        among_first = bool(told.effective) and self._repeated.get(at, 0) < REPEATED_FIRST
        self._repeated[at] = self._repeated.get(at, 0) + among_first
        if among_first or int(told.digest[:4], 16) % REPEATED == 0:
            self.repeat(at, told.schedule, watched=among_first)

    def _take_watched(self, at: TaskSeed, told: Evaluation, again: Evaluation) -> None:
        """Take a watched run; it is slow, so where real time matters the limit, or a time-out, may have ended it."""
        self.reads.setdefault(at, {})[told.schedule] = again.reads
        self.written.note(at.task_id, again.written)
        if again.ending is not Ending.HUNG and not self.in_real_time:
            self._compare(at, told, again)

    def _compare(self, at: TaskSeed, told: Evaluation, again: Evaluation) -> None:
        if Status.ERROR in (told.status, again.status):
            return
        if again.digest == told.digest:
            self.equal[at, told.schedule] += 1
            return
        is_first = at.of_study not in self.unlike
        divergence = divergence_of_repeat(at.world, told.schedule, difference_in_calls(told, again), again.reads)
        self.differ(at, divergence)
        if is_first and all(read.package for read in again.reads):
            self._watch_for_cause(at, divergence)

    def _watch_for_cause(self, at: TaskSeed, divergence: Divergence) -> None:
        """Have a schedule whose runs differ watched once, as what it reads, or leaves behind, is the likely cause."""
        ticket = self._submit(at, divergence.schedules[0], self.answering, watched=True, surveyed=True)
        self._naming[ticket] = (at, divergence)

    def differ(self, at: TaskSeed, divergence: Divergence) -> None:
        """Note that runs of a task and seed diverged, where first, and the likely cause."""
        if at.of_study not in self.unlike:
            self.divergences[at.of_study] = divergence
            self.name_cause(at, divergence.with_cause)

    def name_cause(self, at: TaskSeed, text: str) -> None:
        """Say where runs of a task and seed diverged first, and why."""
        at = at.of_study
        if self.unlike.get(at) != text:
            self.unlike[at] = text
            self._on_differing(at, text)

    @property
    def diverged(self) -> tuple[str, ...]:
        """Where repeated runs differed, in a line for each task and seed."""
        return tuple(f"task {at.task_id!r}, seed {at.seed}: {where}" for at, where in sorted(self.unlike.items()))

    def diverged_in(self, task_id: str) -> bool:
        """Whether a repeated run of a task differed, with any seed and in any world."""
        return any(at.task_id == task_id for at in self.unlike)

    def _keep(self, key: tuple[TaskSeed, Schedule], evaluation: Evaluation) -> None:
        if evaluation.ending is Ending.HUNG and not evaluation.verdicts and self._judge_hung is not None:
            evaluation = self._judge_hung(self._job(*key), evaluation.detail).evaluation
        self._check_what_landed(key[0], evaluation)
        self.written.note(key[0].task_id, evaluation.written)
        self._interning.share(key[1], evaluation)
        self._known[key[0]].add(key[1], evaluation)
        foresight = self._foresights.get(key[0])
        if foresight is not None:
            foresight.add(evaluation)
        self.executions += 1
        self.tied[key[0].of_study] += evaluation.tied
        if evaluation.status is Status.ERROR:
            self.errors += 1
        self._on_executed(key[0], evaluation)

    def _check_what_landed(self, at: TaskSeed, told: Evaluation) -> None:
        """Compare a run of which something did not land with the run of what landed: they must be alike.

        They are not when an operator acts other than through its crossing, which only sometimes shows in its run.
        """
        alone = None if told.effective == told.schedule else self.known(at, told.effective)
        if alone is None or told.status is Status.ERROR or alone.status is Status.ERROR or alone.ending is Ending.HUNG:
            return
        if not is_equal_run(alone, told) and at.of_study not in self.unlike:
            divergence = divergence_of_effective(at.world, told, alone)
            self.differ(at, divergence)
            self._watch_for_cause(at, divergence)

    def log_of(self, at: TaskSeed) -> EvaluationLog:
        """Return all that is known of a task and seed; it grows by each run that ends."""
        return self._known[at]

    def evaluate(self, at: TaskSeed, schedule: Schedule) -> Evaluation:
        """Return what a schedule told, running it first if it was not."""
        self.request(at, schedule)
        while True:
            evaluation = self.known(at, schedule)
            if evaluation is not None:
                return evaluation
            self.wait(at)

    def forget(self, at: TaskSeed) -> None:
        """Drop what was told about a task and seed, in all worlds, whose searches are over."""
        self._interning.forget()
        self.speculation.forget(at)
        for world in [world for world in self._known if world[:2] == at[:2]]:
            self._known.pop(world).forget()
            self._foresights.pop(world, None)

    def abandon(self) -> None:
        """Drop what no worker has begun, and expect nothing of what is out any more."""
        self.queue.drop_waiting()
        self.speculation.abandon()
        self._by_seed.clear()
        for out in (self._out, self._tickets, self._repeats, self._watched, self._naming, self._draws, self._plays):
            out.clear()

    def repeats_out(self, task_id: str) -> bool:
        """Whether some repeat of a run of a task has not ended yet."""
        repeats = chain(self._repeats.values(), self._watched.values(), self._naming.values())
        return any(at.task_id == task_id for at, _ in repeats)
