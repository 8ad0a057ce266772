"""The night shift does its work, and has the weaknesses that its README names."""

from __future__ import annotations

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.night_shift.target import night_shift
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.vocabulary import Verdict

DOWN = "error_status(status=503, retry_after=0.0, when=before)"
TWO_COURIERS = parse("service:courier[2]@dispatcher lost_response(when=after)")
TAKEN_TWICE = parse("service:stock[2]@picker lost_response(when=after); memory:notes[1]@picker lost_update")
NOBODY_COMES = parse("; ".join(f"service:courier[{call}]@dispatcher {DOWN}" for call in (2, 3, 4)))
WEAKNESSES = [(TWO_COURIERS, "at-most-once"), (TAKEN_TWICE, "at-most-once"), (NOBODY_COMES, "promises-kept")]
NIGHTS = tuple(night_shift.tasks)


def run(night: str, config: str, schedule: Schedule) -> Evaluation:
    task, chosen = night_shift.task(night), night_shift.config(config)
    experiment = Experiment(night_shift, task, chosen, 0, default_contracts()).with_nominal()
    return execute(experiment, schedule).evaluation


def broken(evaluation: Evaluation) -> set[str]:
    return {verdict.contract for verdict in evaluation.verdicts if verdict.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize("config", night_shift.configs)
@pytest.mark.parametrize("night", NIGHTS)
def test_a_night_without_faults_sends_every_order_and_breaks_nothing(night: str, config: str) -> None:
    evaluation = run(night, config, EMPTY)

    assert evaluation.success
    assert not broken(evaluation)


@pytest.mark.parametrize("night", NIGHTS)
@pytest.mark.parametrize(("schedule", "contract"), WEAKNESSES)
def test_each_weakness_needs_all_of_its_faults(night: str, schedule: Schedule, contract: str) -> None:
    evaluation = run(night, "naive", schedule)

    assert evaluation.effective == schedule
    assert contract in broken(evaluation)
    assert not any(contract in broken(run(night, "naive", schedule.without(fault))) for fault in schedule)


@pytest.mark.parametrize("night", NIGHTS)
@pytest.mark.parametrize(("schedule", "contract"), WEAKNESSES)
def test_the_careful_shift_holds(night: str, schedule: Schedule, contract: str) -> None:
    assert contract not in broken(run(night, "careful", schedule))
