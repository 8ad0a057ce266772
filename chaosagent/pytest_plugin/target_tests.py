"""`@pytest.mark.chaosagent`: a test returns a target, which is run as its marker says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chaosagent.api.result import StudyResult
from chaosagent.api.running_loop import outside_running_loop
from chaosagent.api.search_study import search as search_study
from chaosagent.api.study import Study, file_of, placed
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RUNS_MAX
from chaosagent.pytest_plugin.target_runs import lands, never_reached, runs_of, smallest_of
from chaosagent.replays.drawing import run_schedule
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.store import write_record
from chaosagent.studyfile.plan import plan_of
from chaosagent.targets.target import Target
from chaosagent.yaml_file import quote_value

PLACE = re.compile(r"\A.*?\.py:\d+: ")
"""File and line of the code that made a study, as its messages begin."""
WAYS = ("schedules", "random", "search")


def run_target_test(item: pytest.Function, marker: pytest.Mark) -> None:
    """Call a test, which returns a target, run that as its marker says, and fail with what breaks it."""
    found: dict[str, ReplayRecord] = {}
    wrong = []
    file, line, _ = item.location
    place = f"{file}:{(line or 0) + 1}"
    try:
        asked = _Asked.of(marker)
        target = _returned_by(item)
        with outside_running_loop(), target_output_to_stderr(descriptors=False):
            study = asked.study_of(target, place)
            for record in asked.found(study):
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

    def study_of(self, target: Target | str, place: str) -> Study:
        """Return the study; its messages name the place of the marked test, and not the line that calls tests."""
        try:
            study = Study(target, **self.study)
        except UsageError as error:
            raise UsageError(f"{place}: chaosagent(): {PLACE.sub('', str(error))}") from None
        return placed(study, place)

    def found(self, study: Study) -> Iterator[ReplayRecord]:
        """Yield a record of each violation.

        Raises:
            UsageError: Something that was asked for tests nothing.
        """
        result, searched = None, set[str]()
        if self.search:
            limited = replace(study, search={**(study.search or {}), "trials": self.search})
            result = search_study(placed(limited, study.where))
            searched = {one.contract for one in result.certificates}
            yield from (one.record for one in result.counterexamples)
            _refuse_errors(result)
        plan = plan_of(file_of(study))
        every = list(runs_of(plan))
        checked = searched if not (self.schedules or self.random) else {contract.id for contract in plan.contracts}
        for runs in every:
            broken = [one for one in runs.broken_in(runs.undisturbed.trace, EMPTY) if one.contract in checked]
            yield from broken
            if result is not None:
                runs.refuse_broken_before(result, [one.contract for one in broken])
        for schedule in [parse(text, "schedules") for text in self.schedules]:
            traces = [(runs, run_schedule(runs.experiment, schedule).trace) for runs in every]
            if not any(lands(schedule, trace) for _, trace in traces):
                raise UsageError(never_reached(schedule, every))
            yield from (record for runs, trace in traces for record in runs.broken_in(trace, schedule))
        if result is not None:
            for runs in every:
                runs.refuse_idle_search(result)
        if self.random:
            yield from smallest_of(violation for runs in every for violation in runs.at_random(self.random))


def _refuse_errors(result: StudyResult) -> None:
    """Refuse a search in which runs could not be made: nobody knows what the target would have done."""
    errors = [(trial.error, trial.schedule) for trial in result.trials if trial.error]
    if errors:
        error, schedule = errors[0]
        under = f"under {schedule}" if schedule else "without any fault"
        raise UsageError(
            f"{len(errors)} of {len(result.trials)} runs could not be made, so they test nothing. The first, {under}: "
            f"{error}"
        )


def _kept(item: pytest.Function, record: ReplayRecord) -> str:
    """Write a record, and return its story."""
    from chaosagent.report.story import story_of

    folder = item.config.rootpath / item.config.getini("chaosagent_out")
    try:
        path = write_record(folder, record)
    except ChaosAgentError as error:
        return f"{story_of(record).text().rstrip()}\n\nnot saved: {error}"
    return story_of(record, path).text().rstrip()
