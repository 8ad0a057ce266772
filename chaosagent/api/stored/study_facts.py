"""What the report page tells of a study, read from its folder; nothing is executed, imported or written."""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from chaosagent.api.rows import STUDY_NAME, Certificate, certificates_in, store_in
from chaosagent.api.stored.further_study import OBJECTIVE_FOLDER, belongs_to
from chaosagent.api.stored.random_runs import random_runs_of
from chaosagent.errors import RecordError, StoredDataError, UsageError
from chaosagent.faults.space import left_out
from chaosagent.metrics.comparison import SearchKey, SearchOutcome
from chaosagent.metrics.random_curve import RandomRuns, random_curve, with_failures, without_estimates
from chaosagent.metrics.robustness import Curve, Survival, curve_of
from chaosagent.replays.record import SUFFIX, ReplayRecord
from chaosagent.replays.store import read_record
from chaosagent.report.causes.calls import Calls, calls_in_store
from chaosagent.report.html.study_facts import (
    ErrorFact,
    Failing,
    SearchFact,
    StoredCounterexample,
    StudyFacts,
)
from chaosagent.sqlite_file import SQLITE_ERRORS
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.store.facts import Facts, bounds_in, names_in, read_facts
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.lock import holder_of
from chaosagent.study.store.progress_file import Snapshot, read_progress
from chaosagent.study.store.reading import (
    REMEDY,
    REMEDY_ANEW,
    ClosedStore,
    has_open_journal,
    open_closed_store,
    read_only_uri,
)
from chaosagent.studyfile import load_study

ERRORS_MAX = 20
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_INJECTION = re.compile(r"(?:^|; )(([a-z]+:[^\s\[\]@;#]+)\[[^\]]*\](?:@[^\s;#@\[\]]+)?) ([A-Za-z][\w./-]*)")
_ERRORS = """
SELECT error, count(*), (SELECT text FROM name WHERE id = run.task), schedule, min(id) FROM run
WHERE status = 'error' GROUP BY error ORDER BY count(*) DESC, min(id)
"""
_LANDED = "SELECT landed, count(*) FROM run WHERE schedule != '' GROUP BY 1 ORDER BY 1"
_FAILING = """
SELECT run.id, task.text, run.landed, contract.text
FROM trial JOIN run ON trial.execution = run.id JOIN name AS task ON run.task = task.id
JOIN name AS contract ON trial.contract = contract.id
WHERE trial.verdict = 2 AND trial.unfair = 0 AND run.schedule != '' ORDER BY run.id, contract.text
"""
_FIRST = "SELECT min(execution) FROM trial WHERE verdict = 2 AND unfair = 0 GROUP BY task, seed, contract ORDER BY 1"
_VIOLATING = """
SELECT trial.execution, execution.cost FROM trial JOIN execution ON trial.execution = execution.id
WHERE trial.verdict = 2 AND trial.unfair = 0 ORDER BY trial.execution
"""
_WORLDS = "SELECT digest, min(world) FROM execution WHERE schedule != '' GROUP BY digest"


def study_facts(folder: Path) -> StudyFacts:
    """Return what the folder of a study holds, whether the study has ended, runs, or was killed.

    Raises:
        StoredDataError: The store is damaged, or of another version.
        UsageError: The folder holds no study, or its study file cannot be read.
    """
    path = store_in(folder)
    budget = load_study(folder / STUDY_NAME).settings.budget
    if holder_of(folder) is not None or not _is_closed(path):
        return _so_far(folder, is_running=holder_of(folder) is not None)
    with open_closed_store(path) as store:
        store.connection.text_factory = str
        return _of_store(folder, store, budget)


def _is_closed(path: Path) -> bool:
    if has_open_journal(path):  # to open it with its journal would write beside it
        return False
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            return "counts" in read_facts(connection, path, REMEDY_ANEW)
    except SQLITE_ERRORS as error:
        raise StoredDataError(str(path), "", f"it is no store of a study, or damaged: {error}", REMEDY) from error


def _of_store(folder: Path, store: ClosedStore, budget: float) -> StudyFacts:
    connection, facts, told = store.connection, store.facts, _progress_of(folder)
    settings = load_study(folder / STUDY_NAME).settings.search
    found, missing = _stored_counterexamples(folder, store)
    searches = list(map(_search_fact, certificates_in(store, budget)))
    if all(one.contract != OBJECTIVE for one in searches):
        added, more, gone = _searched_afterwards(folder, facts)
        searches, found, missing = [*searches, *added], _in_order([*found, *more]), [*missing, *gone]
    tried: Counter[tuple[str, str]] = Counter()
    for schedule, count in connection.execute(_LANDED):
        for _, interface, operator in _injections(schedule):
            tried[operator, interface] += count
    landed = {operator for operator, _ in tried}
    operators, boundaries = names_in(facts, "operators"), names_in(facts, "boundaries")
    executions, errors = connection.execute("SELECT count(*), sum(status = 'error') FROM execution").fetchone()
    runs, _ = random_runs_of(folder, facts)
    stochastic = facts.get("stochastic") == "yes"
    searches, contradictions = _with_failures(searches, () if stochastic else runs)
    objective = [one for one in searches if one.contract == OBJECTIVE]
    random = _random_curve(runs, objective, budget, stochastic=stochastic) if runs else None
    return StudyFacts(
        folder,
        facts.get("target", ""),
        facts.get("config", ""),
        budget,
        "ended" if "ended" in facts else "out of time" if told and told.state == "out of time" else "interrupted",
        stochastic=stochastic,
        wants_several=settings.all_minimal or settings.signatures is not None,
        search_count=max(len(searches), told.searches if told else 0),
        searches=searches,
        counterexamples=found,
        missing=missing,
        trials=connection.execute("SELECT count(*) FROM trial").fetchone()[0],
        executions=executions,
        errors=errors or 0,
        taken_over=told.taken_over if told else 0,
        seconds=told.seconds if told else float(facts.get("seconds", "0")),
        failed=[
            ErrorFact(error, count, task, schedule)
            for error, count, task, schedule, _ in connection.execute(_ERRORS).fetchmany(ERRORS_MAX)
        ],
        tried=dict(tried),
        not_tried=left_out(operators, boundaries) if boundaries else None,
        not_landed=[name for name in left_out(landed, boundaries) if name in operators],
        failing=list(_failing(connection)),
        shard=facts.get("shard", ""),
        begun=facts.get("begun", ""),
        ended=facts.get("ended", ""),
        objective=objective,
        random=random,
        contradictions=contradictions,
        violation_runs=[row[0] for row in connection.execute(_FIRST)],
        best_costs=list(_best_costs(connection)),
        bounds=[] if stochastic else bounds_in(facts),
    )


def _stored_counterexamples(folder: Path, store: ClosedStore) -> tuple[list[StoredCounterexample], list[str]]:
    """Return the counterexamples of a store, cheapest first, and the ids of those that have no record."""
    ids = [row[0] for row in store.connection.execute("SELECT id FROM counterexample ORDER BY cost, id")]
    found, missing = _records(folder, ids)
    return _with_calls(store.connection, found, _undisturbed(store)), missing


def _in_order(found: Iterable[StoredCounterexample]) -> list[StoredCounterexample]:
    return sorted(found, key=lambda one: (one.record.cost, one.record.contract, one.record.task.id, one.record.seed))


def _with_failures(
    searches: Sequence[SearchFact], runs: Sequence[RandomRuns]
) -> tuple[list[SearchFact], tuple[str, ...]]:
    """Return the searches with what random schedules broke, and what of that was proved impossible."""
    known, contradictions = with_failures(
        {
            SearchKey(one.task, one.seed, one.contract): SearchOutcome(
                0.0 if one.violated_nominally else one.cost, one.proved_below(stochastic=False)
            )
            for one in searches
            if one.contract == OBJECTIVE
        },
        runs,
    )
    told = []
    for one in searches:
        outcome = known.get(SearchKey(one.task, one.seed, one.contract))
        if outcome is not None and not one.violated_nominally:
            bound = min(one.lower_bound, outcome.proved_below)
            is_kept = outcome.cost == one.cost
            one = one._replace(cost=outcome.cost, lower_bound=bound, safe=one.safe and is_kept)
        told.append(one)
    return told, contradictions


def _random_curve(
    runs: Sequence[RandomRuns], objective: Sequence[SearchFact], budget: float, *, stochastic: bool
) -> Curve:
    random = random_curve(runs, budget, stochastic=stochastic)
    if not objective or stochastic:
        return random
    kept = [Survival(one.task, one.seed, one.proved_below(stochastic=False), one.cost) for one in objective]
    return without_estimates(random, curve_of(kept, budget))


def _searched_afterwards(folder: Path, facts: Facts) -> tuple[list[SearchFact], list[StoredCounterexample], list[str]]:
    """Return the searches against the objective that were added to a study, and what they found."""
    further = folder / OBJECTIVE_FOLDER
    try:
        if not belongs_to(folder, facts, further):
            return [], [], []
        with open_closed_store(further / FILE_NAME) as store:
            store.connection.text_factory = str
            searches = certificates_in(store, load_study(further / STUDY_NAME).settings.budget)
            found, missing = _stored_counterexamples(further, store)
    except (StoredDataError, RecordError, UsageError):  # `chaosagent curve` says what is wrong with it
        return [], [], []
    return [_search_fact(one) for one in searches], found, missing


def _search_fact(certificate: Certificate) -> SearchFact:
    return SearchFact(*(getattr(certificate, name) for name in SearchFact._fields))


def _so_far(folder: Path, *, is_running: bool) -> StudyFacts:
    """Return what a study that is not closed says of itself; of its proofs nothing, as they are not final."""
    told = read_progress(folder)
    found, missing = _records(folder, [one.id for one in told.counterexamples if one.id])  # those that are reduced
    return StudyFacts(
        folder,
        told.target,
        told.config,
        told.budget,
        "running" if is_running else "killed",
        search_count=told.searches,
        counterexamples=[StoredCounterexample(record, path, None) for record, path in found],
        missing=missing,
        trials=told.trials,
        executions=told.executions,
        errors=told.errors,
        taken_over=told.taken_over,
        seconds=told.seconds,
        begun=told.begun,
        written=told.written,
        shard=told.shard,
        known=told.found,
        known_cost=told.best_cost,
    )


def _records(folder: Path, ids: Iterable[str]) -> tuple[list[tuple[ReplayRecord, Path]], list[str]]:
    """Return the records of counterexamples, cheapest first, and the ids of those that have none."""
    files = {
        path.name.removesuffix(SUFFIX).rpartition("-")[2]: path for path in (folder / "replays").glob(f"*{SUFFIX}")
    }
    found: list[tuple[ReplayRecord, Path]] = []
    missing: list[str] = []
    for known in ids:
        if known not in files:
            missing.append(known)
            continue
        record = read_record(files[known])
        if record.id != known:
            raise RecordError(f"{files[known]} holds another record, {record.id}. Search again, or remove the file.")
        found.append((record, files[known]))
    found.sort(key=lambda one: (one[0].cost, one[0].contract, one[0].task.id, one[0].seed))
    return found, missing


def _undisturbed(store: ClosedStore) -> Mapping[tuple[str, int, int], Calls]:
    return {(at.task_id, at.seed, at.world): calls_in_store(one.crossings) for at, one in store.undisturbed()}


def _with_calls(
    connection: sqlite3.Connection,
    found: Iterable[tuple[ReplayRecord, Path]],
    calls: Mapping[tuple[str, int, int], Calls],
) -> list[StoredCounterexample]:
    """Join records with the run without faults in the same world of frozen answers."""
    several = len({world for _, _, world in calls}) > 1
    worlds = dict(connection.execute(_WORLDS).fetchall()) if several else {}
    return [
        StoredCounterexample(record, path, calls.get((record.task.id, record.seed, worlds.get(record.trace_digest, 0))))
        for record, path in found
    ]


def _injections(schedule: str) -> Iterator[tuple[str, str, str]]:
    """Yield hook, interface and operator of each injection; texts in it may look like injections, and are none."""
    yield from _INJECTION.findall(_TEXT.sub('""', schedule))


def _failing(connection: sqlite3.Connection) -> Iterator[Failing]:
    """Yield each run that breaks contracts which were searched."""
    for _, rows in groupby(connection.execute(_FAILING), key=itemgetter(0)):
        listed = list(rows)
        _, task, schedule, _ = listed[0]
        yield Failing(
            task, frozenset(hook for hook, _, _ in _injections(schedule)), frozenset(row[3] for row in listed)
        )


def _best_costs(connection: sqlite3.Connection) -> Iterator[tuple[int, float]]:
    best = math.inf
    for run, cost in connection.execute(_VIOLATING):
        if cost < best:
            best = cost
            yield run, cost


def _progress_of(folder: Path) -> Snapshot | None:
    """Return what a study has said of itself at its end; `None` of an older one, which did not say it."""
    try:
        return read_progress(folder)
    except UsageError:
        return None
