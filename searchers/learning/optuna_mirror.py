"""Mirrors the trials of a search into an Optuna study for `optuna-dashboard`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chaosagent.canonical import digest_of
from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Hook, Injection, inject, place_of
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import violates

INJECTIONS_MAX = 1_000
TEXT_MAX = 2_000
"""Characters of a schedule that an attribute of a trial holds."""


class OptunaMirror:
    """Writes what a searcher was told into a study of Optuna.

    Each search is a study of its own, made when the run without injections is told and named after the contract, the
    seed and that run. Trials that the study holds already, from an earlier session, are not written twice.

    Args:
        storage: A URL that Optuna knows, or the name of a journal file.
        problem: What is searched.
        settings: Of the searcher; with others it is another study.

    Raises:
        UsageError: The storage cannot be opened; so does `put` where it cannot be read or written.
    """

    def __init__(self, storage: str, problem: Problem, settings: Sequence[int]) -> None:
        self._where, self._problem, self._settings = storage, problem, tuple(settings)
        self._optuna = require("optuna", extra="search", needed_by="searcher tpe with a storage")
        sql = require("sqlalchemy.exc", extra="search", needed_by="searcher tpe with a storage")
        refusals = (OSError, ImportError, ValueError, KeyError, sql.SQLAlchemyError)
        self._refusals = (*refusals, self._optuna.exceptions.OptunaError)
        self._storage = self._opened()
        self._study: Any = None
        self._waiting: list[tuple[Evaluation, float]] = []
        self._stored = 0
        self._choices: dict[str, Any] = {}

    def put(self, evaluation: Evaluation, scalar: float) -> None:
        """Write a trial; those told before the run without injections wait for it."""
        self._waiting.append((evaluation, scalar))
        with self._refused("read or written"):
            self._put(evaluation)

    def _put(self, evaluation: Evaluation) -> None:
        if self._study is None and evaluation.schedule == EMPTY:
            self._study = self._begun(evaluation)
            self._stored = len(self._study.get_trials(deepcopy=False))
        if self._study is None:
            return
        for waiting in self._waiting:
            if self._stored > 0:
                self._stored -= 1
            else:
                self._study.add_trial(self._trial(*waiting))
        self._waiting.clear()

    def _opened(self) -> Any:  # optuna has no types here
        storages = self._optuna.storages
        with self._refused("opened"):
            if "://" in self._where:
                return storages.RDBStorage(self._where)
            _check_journal(Path(self._where))
            return storages.JournalStorage(storages.journal.JournalFileBackend(self._where))

    @contextlib.contextmanager
    def _refused(self, what: str) -> Iterator[None]:
        """Say of what a storage raises that it is the storage, which the user has named, and not the searcher."""
        try:
            yield
        except self._refusals as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise UsageError(
                f"tpe(storage={self._where!r}): cannot be {what}: {reason}. Give a URL such as sqlite:///tpe.db, with "
                "the driver of its database installed, or the name of a file in a folder that exists, new or written "
                "by Optuna."
            ) from error

    def _begun(self, nominal: Evaluation) -> Any:
        problem = self._problem
        identity = digest_of(
            [
                problem.search_seed,
                problem.budget,
                problem.all_minimal,
                problem.space.digest,
                nominal.digest,
                self._settings,
            ]
        )
        name = f"{problem.contract}, seed {problem.seed}, {identity[:8]}"
        with quiet(self._optuna):
            return self._optuna.create_study(storage=self._storage, study_name=name, load_if_exists=True)

    def _trial(self, evaluation: Evaluation, scalar: float) -> Any:
        params, distributions = self._params(evaluation.schedule)
        broken = evaluation.status is Status.ERROR
        states = self._optuna.trial.TrialState
        return self._optuna.trial.create_trial(
            state=states.FAIL if broken else states.COMPLETE,
            value=None if broken else scalar,
            params=params,
            distributions=distributions,
            user_attrs={
                "schedule": str(evaluation.schedule)[:TEXT_MAX],
                "landed": str(evaluation.effective)[:TEXT_MAX],
                "cost": evaluation.effective.declared_cost(self._problem.space.model),
                "ending": evaluation.ending.value,
                "verdict": _verdict(evaluation, self._problem.contract),
            },
        )

    def _params(self, schedule: Schedule) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a parameter for each place that gets an injection, with all that the space allows there."""
        distributions = {"injections": self._optuna.distributions.IntDistribution(0, INJECTIONS_MAX)}
        params: dict[str, Any] = {"injections": len(schedule)}
        for injection in schedule:
            place = str(place_of(injection))
            what = _what(injection)
            if place not in self._choices:
                allowed = dict.fromkeys(self._allowed(injection.hook))
                self._choices[place] = self._optuna.distributions.CategoricalDistribution(tuple(allowed))
            if what in self._choices[place].choices:
                params[place], distributions[place] = what, self._choices[place]
        return params, distributions

    def _allowed(self, hook: Hook) -> Iterator[str]:
        for priced in self._problem.space.at(hook.boundary, hook.interface, hook.agent):
            yield _what(inject(hook, priced.operator))


def _check_journal(path: Path) -> None:
    """Look at the first line of a file before Optuna adds lines to it, as it does to whatever file it is.

    Raises:
        ValueError: It is not Optuna's.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    if first and not first.startswith('{"op_code"'):
        raise ValueError("it holds something else than a journal of Optuna")


@contextlib.contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from telling of each new study."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)


def _what(injection: Injection) -> str:
    """Return the text of an injection without its hook."""
    return str(injection).partition(" ")[2]


def _verdict(evaluation: Evaluation, contract: str) -> str:
    if evaluation.status is Status.ERROR:
        return f"error: {evaluation.error}"[:TEXT_MAX]
    if violates(evaluation, contract):
        return "violated"
    verdict = evaluation.verdict(contract)
    if verdict is None:
        return "unknown"
    return "violated, but unfairly" if verdict.unfair else verdict.verdict.name.lower()
