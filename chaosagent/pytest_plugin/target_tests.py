"""Targets in tests: `@pytest.mark.chaosagent`, whose test returns a target, and the fixture `chaosagent_run`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chaosagent.api.result import StudyResult
from chaosagent.api.rows import Certificate
from chaosagent.api.running_loop import outside_running_loop
from chaosagent.api.search_study import search as search_study
from chaosagent.api.study import Study, file_of
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.contracts.contract import Contract
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.execution.execute import Execution, Experiment, nominal_in
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.limits import RUNS_MAX
from chaosagent.replays.drawing import run_schedule
from chaosagent.replays.record import Named, ReplayRecord, record_of_run
from chaosagent.replays.store import write_record
from chaosagent.replays.today import is_broken
from chaosagent.searchers.random import RandomSearcher
from chaosagent.study.loop.build_certificate import is_injectable
from chaosagent.study.plan import Plan
from chaosagent.study.searcher import Problem
from chaosagent.studyfile.plan import plan_of
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Effect, Landing, Outcome
from chaosagent.yaml_file import quote_value

ABREAST = 16
PLACE = re.compile(r"\A.*?\.py:\d+: ")
"""File and line of the code that made a study, as its messages begin."""
WAYS = ("schedules", "random", "search")


def run_target_test(item: pytest.Function, marker: pytest.Mark) -> None:
    """Call a test, which returns a target, run that as its marker says, and fail with what breaks it."""
    found: dict[str, ReplayRecord] = {}
    wrong = []
    try:
        asked = _Asked.of(marker)
        target = _returned_by(item)
        with outside_running_loop(), target_output_to_stderr(descriptors=False):
            for record in asked.found(asked.study_of(target)):
                known = found.get(record.contract)
                if known is None or record.cost < known.cost:
                    found[record.contract] = record
    except ChaosAgentError as error:
        wrong = [str(error)]
    cheapest_first = sorted(found.values(), key=lambda record: (record.cost, record.contract))
    told = [*(_kept(item, record) for record in cheapest_first), *wrong]
    if told:
        pytest.fail("\n\n".join(told), pytrace=False)


def _returned_by(item: pytest.Function) -> Target | str:
    where = f"{item.name} is marked `chaosagent`, so it must"
    if inspect.iscoroutinefunction(item.obj):
        raise UsageError(f"{where} be a plain function that returns a target, and not run it; this one is `async def`.")
    names = item._fixtureinfo.argnames
    target = item.obj(**{name: item.funcargs[name] for name in names})
    if not isinstance(target, Target | str):
        raise UsageError(
            f"{where} return a target, or its name; it returns {type(target).__name__}. Decorate the agent's function "
            "with @chaosagent.target() and return that."
        )
    return target


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a marker asks for.

    Attributes:
        schedules: In text form.
        random: How many random schedules for each task and seed.
        search: How many trials for each contract.
        study: The other keys of a study.
    """

    schedules: tuple[str, ...]
    random: int
    search: int
    study: Mapping[str, Any]

    @classmethod
    def of(cls, marker: pytest.Mark) -> _Asked:
        given: dict[str, Any] = dict(marker.kwargs)
        if marker.args:
            raise UsageError(f"chaosagent({quote_value(marker.args[0])}): name what is meant, such as schedules=[...].")
        schedules, random, search = given.pop("schedules", ()), given.pop("random", 0), given.pop("search", 0)
        if not isinstance(schedules, list | tuple):  # a generator would be empty for the next parameters of the test
            raise UsageError(f"chaosagent(schedules={quote_value(schedules)}): schedules must be a list of texts.")
        for text in schedules:
            if not isinstance(text, str) or not text.strip():
                raise UsageError(
                    f"chaosagent(schedules={quote_value(schedules)}): {quote_value(text)} is no schedule. Write, for "
                    'example, "service:payments[1] service.timeout".'
                )
        for name, value in (("random", random), ("search", search)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= RUNS_MAX:
                raise UsageError(
                    f"chaosagent({name}={quote_value(value)}): {name} must be a whole number up to {RUNS_MAX:,}."
                )
        try:
            inspect.signature(Study).bind("target", **given)
        except TypeError as error:
            raise UsageError(
                f"chaosagent(): {error}; known are {', '.join(WAYS)}, and the arguments of Study."
            ) from None
        if not (schedules or random or search):
            raise UsageError(f"chaosagent(): say what is run: at least one of {', '.join(WAYS)}.")
        return cls(tuple(schedules), random, search, given)

    def study_of(self, target: Target | str) -> Study:
        """Return the study; what is wrong with it is wrong with the marker, and not with the line that calls tests."""
        try:
            return Study(target, **self.study)
        except UsageError as error:
            raise UsageError(f"chaosagent(): {PLACE.sub('', str(error))}") from None

    def found(self, study: Study) -> Iterator[ReplayRecord]:
        """Yield a record of each violation.

        Raises:
            UsageError: Something that was asked for tests nothing.
        """
        result, searched = None, set[str]()
        if self.search:
            result = search_study(replace(study, search={**(study.search or {}), "trials": self.search}))
            searched = {one.contract for one in result.certificates}
            yield from (one.record for one in result.counterexamples)
            _refuse_errors(result)
        plan = plan_of(file_of(study))
        every = list(_runs_of(plan))
        checked = searched if not (self.schedules or self.random) else {contract.id for contract in plan.contracts}
        for runs in every:
            broken = [one for one in runs.broken_in(runs.undisturbed.trace, EMPTY) if one.contract in checked]
            yield from broken
            if result is not None:
                runs.refuse_broken_before(result, [one.contract for one in broken])
        for schedule in [parse(text, "schedules") for text in self.schedules]:
            traces = [(runs, run_schedule(runs.experiment, schedule).trace) for runs in every]
            if not any(_lands(schedule, trace) for _, trace in traces):
                raise UsageError(_never_reached(schedule, every))
            yield from (record for runs, trace in traces for record in runs.broken_in(trace, schedule))
        if result is not None:
            for runs in every:
                runs.refuse_idle_search(result)
        if self.random:
            yield from (record for runs in every for record in runs.at_random(self.random))


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of one task and seed of a plan."""

    plan: Plan
    experiment: Experiment
    undisturbed: Execution

    def at_random(self, count: int) -> Iterator[ReplayRecord]:
        """Yield a record of each contract that a random schedule within the budget breaks; equal plans give equal ones.

        Raises:
            UsageError: Nothing can be injected within the budget.
        """
        plan = self.plan
        searcher = RandomSearcher(Problem("", 0, plan.space, plan.budget, self.experiment.seed, plan.seed))
        searcher.ask(1)  # the run without injections shows where something can be injected
        searcher.tell(self.undisturbed.evaluation)
        made = 0
        while made < count and (proposals := searcher.ask(min(ABREAST, count - made))):
            for proposal in proposals:
                execution = run_schedule(self.experiment, proposal.schedule)
                yield from self.broken_in(execution.trace, proposal.schedule)
                searcher.tell(execution.evaluation)
                made += 1
        if not made:
            raise self._idle("random", "can be")

    def refuse_broken_before(self, result: StudyResult, seen: Collection[str]) -> None:
        """Refuse a search whose run without faults broke a contract, where one more such run does not.

        Args:
            result: Of the search.
            seen: Contracts that one more run breaks.

        Raises:
            UsageError: There is such a contract.
        """
        for one in self._searches(result):
            if one.violated_nominally and one.contract not in seen:
                raise UsageError(
                    f"{one.contract} breaks in {one.task}, seed {one.seed}, without any fault, though not in each run: "
                    "the target is not deterministic, so see what `chaosagent doctor` says of it."
                )

    def refuse_idle_search(self, result: StudyResult) -> None:
        """Refuse a search that has injected nothing in this task and seed, although it has searched.

        Raises:
            UsageError: It has tested nothing.
        """
        is_searched = any(not one.violated_nominally for one in self._searches(result))
        at = (self.experiment.task.id, self.experiment.seed)
        landed = any(trial.landed for trial in result.trials if (trial.task, trial.seed) == at)
        if is_searched and not landed:
            raise self._idle("search", "was" if is_injectable(self.undisturbed.evaluation, self.plan) else "can be")

    def _searches(self, result: StudyResult) -> list[Certificate]:
        at = (self.experiment.task.id, self.experiment.seed)
        return [one for one in result.certificates if (one.task, one.seed) == at]

    def _idle(self, way: str, word: str) -> UsageError:
        return UsageError(
            f"chaosagent({way}=...): nothing {word} injected up to a budget of {self.plan.budget:g} in task "
            f"{self.experiment.task.id!r}, seed {self.experiment.seed}, so this tests nothing. Check that the target "
            "calls its doors, allow more, or name other tasks and operators."
        )

    def broken_in(self, trace: Trace, schedule: Schedule) -> Iterator[ReplayRecord]:
        """Yield a record of each contract that a run breaks."""
        plan = self.plan
        named = Named(plan.target_reference, plan.contract_specs, costs=plan.space.model)
        for contract in plan.contracts:
            if is_broken(trace.verdict(contract.id)):
                yield record_of_run(self.experiment, self.undisturbed, trace, schedule, contract=contract, named=named)


def _refuse_errors(result: StudyResult) -> None:
    """Refuse a search in which runs could not be made: nobody knows what the target would have done."""
    errors = [(trial.error, trial.schedule) for trial in result.trials if trial.error]
    if errors:
        error, schedule = errors[0]
        raise UsageError(f"{len(errors)} of {len(result.trials)} runs failed, the first under {schedule}: {error}")


def _lands(schedule: Schedule, trace: Trace) -> bool:
    """Whether every injection has changed something."""
    landed = {each.injection for each in trace.landed if each.landing is Landing.LANDED}
    return landed.issuperset(map(str, schedule))


def _never_reached(schedule: Schedule, every: Iterable[_Runs]) -> str:
    """Say that a schedule tests nothing, and what could be meant."""
    called = sorted({step.interface for runs in every for step in runs.undisturbed.trace.steps if step.boundary})
    names = ", ".join(called) or "no interfaces"
    return f"{schedule} changes nothing in any run, so it tests nothing. Called are: {names}."


def _runs_of(plan: Plan) -> Iterator[_Runs]:
    for task in plan.tasks:
        for seed in plan.seeds:
            bare = Experiment(plan.target, task, plan.config, seed, plan.contracts, None, plan.run_limits)
            undisturbed = run_schedule(bare, EMPTY)
            yield _Runs(plan, replace(bare, nominal=nominal_in(undisturbed.trace)), undisturbed)


def _kept(item: pytest.Function, record: ReplayRecord) -> str:
    """Write a record, and return its story."""
    from chaosagent.report.story import story_of

    folder = item.config.rootpath / item.config.getini("chaosagent_out")
    try:
        path = write_record(folder, record)
    except ChaosAgentError as error:
        return f"{story_of(record).text().rstrip()}\n\nnot saved: {error}"
    return story_of(record, path).text().rstrip()


@dataclass(frozen=True, slots=True)
class SingleRun:
    """One run of a target.

    Attributes:
        trace: All that happened.
        contracts: What was checked.
    """

    trace: Trace
    contracts: tuple[Contract, ...]

    @property
    def outcome(self) -> Outcome | None:
        """What the target returned; `None` if the run did not get so far."""
        return self.trace.outcome

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What was committed, in order."""
        return self.trace.effects

    @property
    def violations(self) -> dict[str, str]:
        """The reason of each violated contract, by its id."""
        told = {contract.id: self.trace.verdict(contract.id) for contract in self.contracts}
        return {
            name: "" if verdict.violation is None else verdict.violation.reason
            for name, verdict in told.items()
            if is_broken(verdict)
        }


class Runner:
    """Runs targets in a test: what the fixture `chaosagent_run` is."""

    def __call__(self, target: Target | str, schedule: str = "", **study: Any) -> SingleRun:
        """Run a target once under a schedule.

        Args:
            target: The target, or its name.
            schedule: In text form, such as `"service:payments[1] service.timeout"`; without any no fault is injected.
            study: Arguments of `chaosagent.Study`; with several tasks and seeds the first of each is run.

        Raises:
            UsageError: An argument is not allowed, or a fault of the schedule changes nothing.
            TargetError: The target cannot be run.
        """
        with outside_running_loop(), target_output_to_stderr(descriptors=False):
            try:
                plan = plan_of(file_of(Study(target, **study)))
            except TypeError as error:
                raise UsageError(f"chaosagent_run(): {error}; the arguments are those of Study.") from None
            runs = next(_runs_of(plan))
            wanted = parse(schedule, "schedule") if schedule else EMPTY
            trace = run_schedule(runs.experiment, wanted).trace if wanted else runs.undisturbed.trace
            if not _lands(wanted, trace):
                raise UsageError(_never_reached(wanted, [runs]))
        return SingleRun(trace, plan.contracts)
