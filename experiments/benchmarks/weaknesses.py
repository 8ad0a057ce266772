"""How many (task, contract) pairs of a study break within a budget, at which cost, and what is proved of the others.

Run: python -m chaosagent.experiments.benchmarks.weaknesses STUDY.yaml [--config C ...] [--limit N] [--budget 3]
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.workers.executor import Executor, InlineExecutor
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.experiments.benchmarks.measuring import machine, markdown
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress, StudyResult
from chaosagent.study.sink import Sink
from chaosagent.studyfile import Overrides, StudyFile, load_study, plan_of, worker_setup

BUDGET = 3.0
LIMIT = 1_000
EXECUTORS = ("inline", "process", "ray")
SECONDS_BETWEEN_LINES = 10.0
INTERRUPTED = 130
HEADER = (
    "configuration",
    "contract",
    "pairs",
    "break",
    "certified, at cost min / median / max",
    "not certified, at cost; bound",
    "robust",
    "open; bound",
    "no place",
    "without faults",
    "trials",
    "by chance: no cheaper confirmed, at cost; none confirmed; clean runs, error",
)


class Ending(enum.Enum):
    """How a search ended; each has one of these."""

    CERTIFIED = "broken, and proved that nothing cheaper breaks it"
    BOUNDED = "broken, and something cheaper may exist above a bound"
    ROBUST = "proved that nothing within the budget breaks it"
    OPEN = "not broken, and nothing is proved above a bound"
    NO_PLACE = "no fault within the budget has a place in the run"
    NOMINAL = "broken without faults, and not searched"
    CHEAPEST_SHOWN = "answers come by chance: broken, and no cheaper schedule was confirmed to break it, in clean runs"
    NONE_SHOWN = "answers come by chance: nothing within the budget was confirmed to break it, in clean runs"


def ending_of(search: SearchResult) -> Ending:
    """Return how a search ended."""
    if search.violated_nominally:
        return Ending.NOMINAL
    if search.counterexample is not None:
        if not search.certificate.certified:
            return Ending.BOUNDED
        return Ending.CERTIFIED if search.certificate.proved else Ending.CHEAPEST_SHOWN
    if not search.injectable:
        return Ending.NO_PLACE
    if not search.certificate.safe:
        return Ending.OPEN
    return Ending.ROBUST if search.certificate.proved else Ending.NONE_SHOWN


@dataclass(frozen=True, slots=True)
class Searched:
    """The searches of one configuration.

    Attributes:
        config: Its name.
        result: What came of them.
        seconds: Real time, with loading the target and starting workers.
    """

    config: str
    result: StudyResult
    seconds: float


def table(studies: Iterable[Searched]) -> str:
    """Return the table in Markdown: a line for each configuration and contract, and one for all contracts."""
    rows: list[tuple[str, ...]] = []
    for searched in studies:
        by_contract: dict[str, list[SearchResult]] = {}
        for search in searched.result.searches:
            by_contract.setdefault(search.contract, []).append(search)
        for contract, searches in by_contract.items():
            rows.append((searched.config, contract, *counts(searches)))
        rows.append((searched.config, "**all**", *counts(searched.result.searches)))
    return markdown(HEADER, rows)


def counts(searches: Sequence[SearchResult]) -> tuple[str, ...]:
    """Return the cells of one line, from `pairs` on."""
    ended = {ending: [search for search in searches if ending_of(search) is ending] for ending in Ending}
    certified, bounded, left_open = ended[Ending.CERTIFIED], ended[Ending.BOUNDED], ended[Ending.OPEN]
    cheapest, none = ended[Ending.CHEAPEST_SHOWN], ended[Ending.NONE_SHOWN]
    return (
        str(len(searches)),
        str(len(certified) + len(bounded) + len(cheapest)),
        _with(certified, _spread(_costs(certified))),
        _with(bounded, f"{_range(_costs(bounded))}; {_range(_bounds(bounded))}"),
        str(len(ended[Ending.ROBUST])),
        _with(left_open, _range(_bounds(left_open))),
        str(len(ended[Ending.NO_PLACE])),
        str(len(ended[Ending.NOMINAL])),
        str(sum(search.trials for search in searches)),
        f"{_with(cheapest, _spread(_costs(cheapest)))}; {len(none)}; {_clean([*cheapest, *none])}",
    )


def one_by_one(searched: Searched) -> str:
    """Return a line for each pair that is not robust: how it ended, and the schedule if there is one."""
    lines = []
    for search in searched.result.searches:
        ending, found = ending_of(search), search.counterexample
        if ending not in (Ending.ROBUST, Ending.NONE_SHOWN):
            cost = f" {found.cost:g}" if found is not None else ""
            bound = f" bound {search.certificate.lower_bound:g}" if ending in (Ending.BOUNDED, Ending.OPEN) else ""
            schedule = f"  {found.schedule}" if found is not None else ""
            place = f"{searched.config}  {search.task_id}  seed {search.seed}  {search.contract}"
            lines.append(f"{place}  {ending.name.lower()}{cost}{bound}{schedule}")
    return "\n".join(lines)


def _costs(searches: Iterable[SearchResult]) -> list[float]:
    return [search.counterexample.cost for search in searches if search.counterexample is not None]


def _bounds(searches: Iterable[SearchResult]) -> list[float]:
    return [search.certificate.lower_bound for search in searches]


def _clean(searches: Iterable[SearchResult]) -> str:
    """Return how many clean runs each class of schedules has at least, and the error that they allow."""
    clean = [search.certificate.clean for search in searches if search.certificate.clean is not None]
    if not clean:
        return "–"
    least = min(clean, key=lambda one: one.runs)
    return f"at least {least.runs}, below {least.share_max:.2f} of runs with error {least.error:g} each"


def _with(searches: Sequence[SearchResult], more: str) -> str:
    return f"{len(searches)} ({more})" if searches else "0"


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):g} / {statistics.median(values):g} / {max(values):g}" if values else ""


def _range(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{min(values):g}" if min(values) == max(values) else f"{min(values):g} to {max(values):g}"


# ---------------------------------------------------------------------- searching


@dataclass(frozen=True, slots=True)
class Workers:
    """Where the runs happen.

    Attributes:
        executor: One of `EXECUTORS`.
        count: Worker processes; `inline` has none.
    """

    executor: str = "inline"
    count: int = 1

    def open(self, study: StudyFile, plan: Plan) -> Executor:
        """Return the executor; worker processes are started."""
        if self.executor == "inline":
            return InlineExecutor(plan.workbench())
        setup, limits = worker_setup(study, plan), plan.run_limits
        if self.executor == "process":
            return ProcessExecutor(setup, workers=self.count, limits=limits)
        from chaosagent.execution.workers.ray_pool import RayExecutor

        return RayExecutor(setup, workers=self.count, limits=limits)


def search_all(path: Path, overrides: Overrides, workers: Workers = Workers()) -> Searched:
    """Search every pair of a study with the exact searcher, whatever searcher and limit of time its file names.

    Args:
        path: The study file.
        overrides: Configuration, budget, trials of a search, tasks.
        workers: Where the runs happen; the result does not depend on it.

    Raises:
        ChaosAgentError: The study cannot be read, or cannot go on.
    """
    begun = monotonic()
    study = load_study(path, overrides)
    written = plan_of(study)
    limits = StudyLimits(written.limits.trials_max, None, written.limits.error_share_max)
    plan = replace(written, searcher="exact", searcher_settings={}, limits=limits)
    with contextlib.closing(workers.open(study, plan)) as executor:
        result = Study(plan, executor, sinks=[_ProgressLines(plan.config.name)]).run()
    return Searched(plan.config.name, result, monotonic() - begun)


class _ProgressLines(Sink):
    """Says on stderr every few seconds how far a study is."""

    def __init__(self, config: str) -> None:
        self._config, self._said = config, monotonic()

    def progress(self, progress: StudyProgress) -> None:
        if monotonic() - self._said >= SECONDS_BETWEEN_LINES:
            self._said = monotonic()
            over = f"{progress.searches_over} of {progress.searches} searches over"
            print(f"{self._config}: {over}, {progress.executions} executions", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Search and print.

    Returns:
        0, whatever breaks: this is a measurement. 2 or 4 for an error, 130 when interrupted.
    """
    options = _parser().parse_args(arguments)
    try:
        return _measure(options)
    except ChaosAgentError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _measure(options: argparse.Namespace) -> int:
    path: Path = options.study
    tasks = tuple(options.task) if options.task else None
    asked = Overrides(tasks=tasks, budget=options.budget, trials=options.limit)
    plan = plan_of(load_study(path, asked))
    configs: Sequence[str] = options.config or tuple(plan.target.configs)
    for name in configs:
        plan.target.config(name, "--config")
    operator_count = len({choices.operator for choices in plan.space.choices})
    print(machine())
    print(
        f"{path}: {len(plan.tasks)} tasks, {operator_count} operators, budget {plan.budget:g}, "
        f"at most {options.limit} trials a search, {options.executor}",
        flush=True,
    )
    studies: list[Searched] = []
    workers = Workers(options.executor, 1 if options.executor == "inline" else max(1, options.workers))
    for name in configs:
        searched = search_all(path, replace(asked, config=name), workers)
        studies.append(searched)
        if searched.result.interrupted:
            break
    print(f"\n{table(studies)}\n")
    for searched in studies:
        work = f"{searched.result.executions} executions, {searched.result.errors} errors, {searched.seconds:.0f} s"
        print(f"{searched.config}: {work}{', interrupted' if searched.result.interrupted else ''}")
        if options.list and (lines := one_by_one(searched)):
            print(lines)
    return INTERRUPTED if studies[-1].result.interrupted else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaosagent.experiments.benchmarks.weaknesses",
        description="Search every (task, contract) pair of a study and count what breaks and what is proved.",
        epilog="Endings: " + "; ".join(f"{ending.name.lower()}: {ending.value}" for ending in Ending) + ".",
    )
    parser.add_argument("study", type=Path, metavar="STUDY.yaml", help="the study file")
    parser.add_argument("--config", action="append", help="one of the target's configurations; all when left out")
    parser.add_argument("--task", action="append", help="only this task; may be given several times")
    parser.add_argument(
        "--limit", type=int, default=LIMIT, metavar="N", help=f"trials of a search; {LIMIT} when left out"
    )
    parser.add_argument(
        "--budget", type=float, default=BUDGET, help=f"search schedules up to this cost; {BUDGET:g} when left out"
    )
    parser.add_argument("--executor", choices=EXECUTORS, default="inline", help="where runs happen")
    parser.add_argument("--workers", type=int, default=1, help="worker processes; 1 when left out")
    parser.add_argument("--list", action="store_true", help="list each pair that is not robust")
    return parser


if __name__ == "__main__":
    sys.exit(main())
