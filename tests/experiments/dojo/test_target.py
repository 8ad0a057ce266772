"""AgentDojo's suites as targets."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.experiments.dojo.suite import SUITES
from chaosagent.experiments.dojo.target import load
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.vocabulary import Ending, Impact, Verdict

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]
CONFIGS = ("retries", "no-retries", "checks-first", "obedient", "allow-listed")
LOST_PAYMENT = "service:send_money[1] service.lost_response(when=after)"
STALE_LOOK = "service:get_most_recent_transactions[2] service.stale_response"
DIGESTS = """
import json, sys
from chaosagent.canonical import digest_of
from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.dojo.suite import Suite
from chaosagent.experiments.dojo.target import load
from chaosagent.faults.schedule import EMPTY, parse
digests = []
for suite in ("banking", "slack", "travel", "workspace"):
    target = load(suite)
    for task in target.tasks.values():
        experiment = Experiment(target, task, target.config("checks-first"), 0, default_contracts()).with_nominal()
        nominal = execute(experiment, EMPTY).trace
        digests.append(nominal.digest)
        writes = [step.hook for step in nominal.steps if step.effects][:1]
        for hook in writes:
            digests.append(execute(experiment, parse(f"{hook} service.lost_response(when=after)")).trace.digest)
    obedient = target.config("obedient")
    for task, goal in zip(target.tasks.values(), Suite(suite).goals.values()):
        experiment = Experiment(target, task, obedient, 0, default_contracts()).with_nominal()
        places = [step.hook for step in execute(experiment, EMPTY).trace.steps if step.interface.startswith("prompt:")]
        for hook in places[:1]:
            schedule = parse(f"{hook} prompt.splice(text={json.dumps(goal)})")
            trace = execute(experiment, schedule).trace
            digests.append([trace.digest, trace.outcome.state])
print(len(digests), digest_of(digests))
"""


def experiment(task: str, config: str = "retries", suite: str = "banking") -> Experiment:
    target = load(suite)
    return Experiment(target, target.task(task), target.config(config), 0, default_contracts()).with_nominal()


def violated(execution: Execution) -> list[str]:
    return [found.contract for found in execution.trace.verdicts if found.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("config", CONFIGS)
def test_without_faults_every_task_is_done_and_every_default_contract_holds(suite: str, config: str) -> None:
    wrong = []
    for task in load(suite).tasks:
        execution = execute(experiment(task, config, suite), EMPTY)
        outcome = execution.trace.outcome
        if execution.trace.ending is not Ending.FINISHED or outcome.success is not True or violated(execution):
            wrong.append((task, execution.trace.ending_detail, outcome, violated(execution)))

    assert wrong == []


def test_a_run_is_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(found) == 1
    assert int(found.pop().split()[0]) > 97


def test_another_schedule_is_another_run() -> None:
    at = experiment("user_task_3")

    assert execute(at, EMPTY).trace.digest != execute(at, parse(LOST_PAYMENT)).trace.digest


def test_a_payment_is_an_effect_with_recipient_amount_subject_and_date() -> None:
    (paid,) = execute(experiment("user_task_0"), EMPTY).trace.effects

    assert paid.kind == "send_money"
    assert paid.impact is Impact.HIGH
    assert paid.identity == {
        "recipient": "UK12345678901234567890",
        "amount": 98.7,
        "subject": "Car Rental\t\t\t98.70",
        "date": "2022-01-01",
    }


def test_setting_a_value_twice_does_no_harm() -> None:
    twice = execute(experiment("user_task_13"), parse("service:update_user_info[1] service.duplicate_delivery"))

    assert [effect.impact for effect in twice.trace.effects] == [Impact.HIGH, Impact.HARMLESS]
    assert violated(twice) == []


def test_posting_a_page_twice_does_no_harm_though_the_server_counts_both() -> None:
    at = experiment("user_task_4", suite="slack")

    twice = execute(at, parse("service:post_webpage[1] service.duplicate_delivery"))

    assert [effect.impact for effect in twice.trace.effects] == [Impact.HIGH, Impact.HARMLESS]


def test_naive_retries_pay_twice_after_a_lost_response_and_looking_first_does_not() -> None:
    schedule = parse(LOST_PAYMENT)

    assert violated(execute(experiment("user_task_3", "retries"), schedule)) == ["at-most-once"]
    assert violated(execute(experiment("user_task_3", "no-retries"), schedule)) == ["no-ghosts"]
    assert violated(execute(experiment("user_task_3", "checks-first"), schedule)) == []


def test_looking_first_is_broken_by_two_faults_and_by_neither_alone() -> None:
    at = experiment("user_task_3", "checks-first")

    assert violated(execute(at, parse(STALE_LOOK))) == []
    assert violated(execute(at, parse(f"{LOST_PAYMENT}; {STALE_LOOK}"))) == ["at-most-once"]


def test_the_agent_acts_on_what_it_reads() -> None:
    at = experiment("user_task_2")
    wrong_order = "service:get_scheduled_transactions[1] service.field_corruption(kind=swapped,field=*.id)"

    changed = execute(at, parse(wrong_order))

    assert [effect.identity for effect in changed.trace.effects] == [{"id": 6, "amount": 1200.0}]
    assert violated(changed) == ["no-extra-effects"]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("kind", ["missing_argument", "unknown_tool", "truncated_json"])
def test_a_malformed_call_ends_in_a_message_never_in_a_crash(config: str, kind: str) -> None:
    at = experiment("user_task_15", config)

    for turn in range(1, 6):
        execution = execute(at, parse(f"model:agent[{turn}] model.malformed_tool_call(kind={kind})"))
        assert execution.trace.ending is Ending.FINISHED
        assert execution.trace.outcome.message


def test_a_refusal_at_the_end_passes_over_what_was_done() -> None:
    refused = execute(experiment("user_task_3"), parse("model:agent[3] model.refusal"))

    assert violated(refused) == ["no-ghosts"]
    assert refused.trace.outcome.claims == ()


def test_after_a_fault_without_consequence_the_future_is_that_of_the_nominal_run() -> None:
    at = experiment("user_task_2")

    def fingerprints(text: str) -> set[bytes]:
        found = execute(at, parse(text), fingerprinting=Fingerprinting.STATE).evaluation.final_fingerprints
        return {fingerprint.common for fingerprint in found}

    nominal = fingerprints("")
    assert len(nominal) == 4
    assert fingerprints("service:read_file[1] service.delay(seconds=5.0)") < nominal
    assert not fingerprints("service:update_scheduled_transaction[1] service.lost_response(when=after)") & nominal
