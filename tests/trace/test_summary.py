"""The summary of a run says what tables need of it."""

from __future__ import annotations

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.evaluation_codec import decode_evaluation, encode_evaluation
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task


@target(name="insisting", tasks=[Task("pay")], configs=[SystemConfig("default")])
async def insisting(task: Task, run: Run) -> Outcome:
    """Pay, again and again until there is an answer."""
    bank = run.service("bank", {"pay": lambda amount: {"paid": amount}}, effects={"pay": effect("amount")})
    for _ in range(3):
        try:
            await bank("pay", amount=5)
            break
        except ConnectionError:
            continue
    return Outcome(f"done {task.id}", success=True)


def test_a_summary_tells_path_failures_and_violations_and_is_stored() -> None:
    experiment = Experiment(
        insisting, insisting.task("pay"), SystemConfig("default"), 0, contracts=default_contracts()
    ).with_nominal()

    undisturbed = execute(experiment, parse("")).evaluation.summary
    disturbed = execute(experiment, parse("service:bank[1] service.lost_response")).evaluation
    summary = disturbed.summary

    assert undisturbed is not None
    assert summary is not None
    assert (undisturbed.path, undisturbed.failures, undisturbed.violations) == (("service:bank pay",), (), ())
    assert summary.calls == {"service:bank pay": 2}
    assert summary.path_digest != undisturbed.path_digest
    assert [(one.call, one.recovered) for one in summary.failures] == [("service:bank pay", True)]
    assert len(summary.effects) == 2
    assert "at-most-once" in {one.contract for one in summary.violations}
    assert summary.tokens is None
    assert decode_evaluation(encode_evaluation(disturbed)).summary == summary
