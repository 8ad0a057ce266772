"""Why a trial told nothing of a contract."""

from __future__ import annotations

from chaosagent.contracts.contract import Contract
from chaosagent.contracts.templates.objective import Objective
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.vocabulary import CUT_OFF, Ending


def unknown_under(evaluation: Evaluation, contract: Contract) -> str:
    """Say under what a trial told nothing of the contract, and why, where that is known."""
    under = f"under {evaluation.schedule}" if evaluation.schedule != EMPTY else "without injections"
    if evaluation.ending in CUT_OFF:
        return f"{under}: {evaluation.detail or evaluation.ending.value}"
    if evaluation.ending is not Ending.FINISHED:
        return f"{under}: the run ended with {evaluation.ending.value} and has no outcome to judge"
    objective = isinstance(contract, Objective)
    return f"{under}: nobody says whether its outcome is a success" if objective else under
