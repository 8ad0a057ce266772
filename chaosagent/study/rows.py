"""The rows of a store, without their checksums; each value as SQLite gives it back, so that checksums can match."""

from __future__ import annotations

import math

from chaosagent.faults.evaluation import Evaluation
from chaosagent.sqlite_file import Value
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.evaluator import Experimental
from chaosagent.study.result import SearchResult
from chaosagent.study.stored import encode_evaluation
from chaosagent.study.trial import Trial

Row = tuple[Value, ...]


def execution_row(key: tuple[str, str, int, str], evaluation: Evaluation, cost: float, *, is_secret: bool) -> Row:
    """Return the row of a run, without its id.

    Args:
        key: Task, seed, world and schedule.
        evaluation: What the run told.
        cost: Of what landed.
        is_secret: What searchers learn from is left out.
    """
    return (
        *key,
        evaluation.status.value,
        _text(evaluation.error),
        str(evaluation.effective),
        float(cost),
        evaluation.digest,
        evaluation.ending.value,
        _flag(evaluation.success),
        evaluation.step_count,
        None if is_secret else encode_evaluation(evaluation),
    )


def draw_row(at: Experimental, number: int, evaluation: Evaluation) -> Row:
    """Return the row of a fresh run."""
    return at.task_id, str(at.seed), str(evaluation.schedule), number, encode_evaluation(evaluation)


def trial_row(at: Experimental, contract: str, trial: Trial, execution: int) -> Row:
    """Return the row of a trial.

    Args:
        at: Task and seed.
        contract: Id of the contract that is searched.
        trial: What was run.
        execution: Id of its run.
    """
    verdict = trial.evaluation.verdict(contract)
    told = (None, None, None) if verdict is None else (int(verdict.verdict), _real(verdict.margin), int(verdict.unfair))
    return at.task_id, str(at.seed), contract, trial.number, trial.purpose.value, execution, *told


def search_row(result: SearchResult) -> Row:
    """Return the row of a search that has ended."""
    found, certificate = result.counterexample, result.certificate
    return (
        result.task_id,
        str(result.seed),
        result.contract,
        result.trials,
        int(result.violated_nominally),
        str(certificate),
        int(certificate.certified and certificate.proved),
        None if math.isinf(certificate.lower_bound) else _real(certificate.lower_bound),
        None if found is None else found.id,
        None if found is None else found.schedule.text,
        None if found is None else _real(found.cost),
    )


def counterexample_row(result: SearchResult, found: Counterexample) -> Row:
    """Return the row of a counterexample of a search."""
    return (
        found.id,
        result.task_id,
        str(result.seed),
        result.contract,
        found.schedule.text,
        float(found.cost),
        _text(str(found.signature)),
        int(certified_of(found)),
    )


def certified_of(found: Counterexample) -> bool:
    """Whether a counterexample is proved to be a cheapest one."""
    return found.certificate.proved and found.certificate.certified


def _text(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _flag(value: bool | None) -> int | None:  # noqa: FBT001  # a column
    return None if value is None else int(value)


def _real(value: float) -> float | None:
    """Return a number as SQLite keeps it, which has neither NaN nor a negative zero."""
    return None if math.isnan(value) else value + 0.0
