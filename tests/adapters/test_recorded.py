"""Recorded conversations as targets: the recorded path is followed, and what leaves it is inconclusive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from chaosagent.adapters.recorded.imported import import_conversations
from chaosagent.adapters.target_file import load_target_file
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.experiments.recorded_conversations import write_conversations
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.study.loop.study import Study
from chaosagent.studyfile import load_study, plan_of
from chaosagent.targets.target import Target
from chaosagent.vocabulary import Ending, Verdict

USER: dict[str, Any] = {"role": "user", "content": "Order 7 never came."}
SAID: dict[str, Any] = {"role": "assistant", "content": "Your money is on its way."}
RULES = "effects: {refund: [order]}\nread_only: [get_order]\n"


def asks(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """Return a turn that calls tools: id, name and arguments of each."""
    listed = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id_, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def told(content: object, id_: str = "c") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


LOOKED_UP = [USER, asks(("c", "get_order", {"order": 7})), told('{"amount": 40}')]
PAID = [*LOOKED_UP, asks(("c", "refund", {"order": 7})), told([{"type": "text", "text": "paid"}]), SAID]


def recorded(folder: Path, *conversations: Sequence[object], rules: str = RULES) -> Target:
    """Return the target that is made of some conversations."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": f"talk{number}", "messages": one}) for number, one in enumerate(conversations, 1)]
    (folder / "log.jsonl").write_text("\n".join(lines), "utf-8")
    import_conversations([folder / "log.jsonl"], folder / "made")
    file = folder / "made/conversations.yaml"
    file.write_text(f"conversations: conversations.jsonl\n{rules}", "utf-8")
    return load_target_file(file)


def run_of(target: Target, schedule: str = "", *, config: str = "retrying", task: str = "talk1") -> Execution:
    experiment = Experiment(target, target.tasks[task], target.configs[config], 0, tuple(default_contracts()))
    if not schedule:
        return execute(experiment, EMPTY)
    return execute(experiment.with_nominal(), parse(schedule))


def violated(execution: Execution) -> list[str]:
    return [one.contract for one in execution.trace.verdicts if one.verdict is Verdict.VIOLATED]


def test_without_faults_every_conversation_is_had_again(tmp_path: Path) -> None:
    write_conversations(tmp_path, 40)
    import_conversations([tmp_path / "conversations.jsonl"], tmp_path / "made")
    target = load_target_file(tmp_path / "made/conversations.yaml")

    for number, line in enumerate((tmp_path / "conversations.jsonl").read_text("utf-8").splitlines(), 1):
        messages = json.loads(line)["messages"]
        execution = run_of(target, task=f"conversations-{number}")
        answers = [step.answer for step in execution.trace.steps if step.interface.startswith("service:")]

        assert execution.trace.ending is Ending.FINISHED
        assert execution.trace.outcome.message == "Your money is on its way."
        assert answers == [message["content"] for message in messages if message["role"] == "tool"]


def test_equal_calls_of_one_turn_keep_their_answers_in_order_and_the_user_answers_as_recorded(tmp_path: Path) -> None:
    twice = asks(("c", "next", {}), ("c", "next", {}))
    thanks = {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}
    last = {"role": "assistant", "content": "You are welcome."}
    target = recorded(tmp_path, [USER, twice, told("one"), told("two"), SAID, thanks, last], rules="")

    execution = run_of(target)

    assert [step.answer for step in execution.trace.steps if step.interface == "service:next"] == ["one", "two"]
    assert execution.trace.outcome.message == "You are welcome."


def test_a_call_that_is_tried_again_stays_on_the_path_and_is_committed_twice(tmp_path: Path) -> None:
    target = recorded(tmp_path, PAID)

    execution = run_of(target, "service:refund[1] service.timeout(when=after, seconds=30.0)")

    assert execution.trace.ending is Ending.FINISHED
    assert violated(execution) == ["at-most-once"]


def test_a_request_that_was_not_recorded_is_inconclusive_and_no_verdict_is_given(tmp_path: Path) -> None:
    target = recorded(tmp_path, PAID)

    execution = run_of(target, "service:get_order[1] service.partial_response(share=1.0)")

    assert execution.trace.ending is Ending.INCONCLUSIVE
    assert execution.trace.ending_detail == "the conversation left the recorded path"
    verdicts = {one.contract: one.verdict for one in execution.trace.verdicts}
    assert verdicts["termination"] is verdicts["all-or-nothing"] is Verdict.UNKNOWN
    assert not violated(execution)


def test_what_was_broken_before_the_path_was_left_counts(tmp_path: Path) -> None:
    target = recorded(tmp_path, PAID)

    execution = run_of(target, "model:model[3] model.repeated_turn()")

    assert execution.trace.ending is Ending.INCONCLUSIVE
    assert violated(execution) == ["at-most-once"]


def test_another_conversation_may_know_how_it_continues(tmp_path: Path) -> None:
    lost = "service:refund[1] service.error_status(retry_after=0.0, status=404, when=before)"
    alone = run_of(recorded(tmp_path / "one", PAID), lost).trace
    failed = next(step for step in alone.steps if step.interface == "service:refund").failure
    assert failed is not None
    other = [*PAID[:4], told(f"Error: 404 {failed.message}"), {"role": "assistant", "content": "A colleague will."}]

    both = run_of(recorded(tmp_path / "two", PAID, other), lost).trace

    assert (alone.ending, both.ending) == (Ending.INCONCLUSIVE, Ending.FINISHED)
    assert both.outcome.message == "A colleague will."


def test_nothing_is_proved_beyond_the_cheapest_run_that_left_the_path(tmp_path: Path) -> None:
    recorded(tmp_path, PAID)
    study = tmp_path / "made/study.yaml"
    lines = "target: conversations.yaml\nbudget: 2\ncontracts: [at-most-once]\nconfig: patient\noperators:\n"

    def proved_below(*operators: str) -> float:
        study.write_text(f"{lines}{''.join(f'  - {name}{chr(10)}' for name in operators)}", "utf-8")
        plan = plan_of(load_study(study))
        result = Study(plan, InlineExecutor(Workbench(plan.target, plan.config, plan.contracts))).run()
        [search] = result.searches
        return search.certificate.lower_bound

    assert proved_below("service.delay") > 2
    assert proved_below("service.delay", "service.partial_response") < 1.1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no conversation can be used"),
        ("[]", "log.jsonl:1: no conversation: expected an object with `messages`"),
        ('{"messages": [{"role": "user"', "log.jsonl:1: is not valid JSON"),
        (json.dumps({"messages": PAID}) + '\n{"messages": 3}', "log.jsonl:2: no conversation"),
        (json.dumps({"messages": [*PAID, 3]}), "log.jsonl:1: message 6: expected an object with a `role`, found 3"),
        (json.dumps({"messages": PAID[:4]}), "message 3: the call of 'refund' has no answer"),
        (json.dumps({"messages": PAID[:5]}), "the last message is of the tool; what the assistant said to it"),
        (json.dumps({"messages": [USER]}), "the last message is of the user|no message of the assistant"),
        (json.dumps({"messages": []}), "no message of the assistant"),
        (json.dumps({"messages": [{**SAID, "tool_calls": "refund"}]}), "expected tool_calls that are a list"),
        (json.dumps({"messages": [{**SAID, "tool_calls": [{"function": {}}]}]}), "a tool call with a function that"),
        ('{"messages": [{"role": "assistant", "content": ' + "[" * 3000 + "]" * 3000 + "}]}", "nests"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "log.jsonl").write_text(text, "utf-8")

    with pytest.raises(UsageError, match=complaint):
        import_conversations([tmp_path / "log.jsonl"], tmp_path / "made")

    assert not (tmp_path / "made").exists()


def test_what_cannot_be_used_is_left_out_where_that_is_wanted(tmp_path: Path) -> None:
    good, cut = json.dumps({"task_id": "a b/c", "messages": PAID}), json.dumps(PAID[:4])
    (tmp_path / "log.jsonl").write_text(f"{good}\n{cut}\nnonsense\n{json.dumps(PAID)}\n{good}", "utf-8")

    done = import_conversations([tmp_path / "log.jsonl"], tmp_path / "made", skip_broken=True)

    assert [one.id for one in done.conversations] == ["a-b-c", "log-4", "a-b-c-2"]
    assert [text.split(": ")[0].rpartition("/")[2] for text in done.left_out] == ["log.jsonl:2", "log.jsonl:3"]
    assert list(load_target_file(tmp_path / "made/conversations.yaml").tasks) == ["a-b-c", "log-4", "a-b-c-2"]


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("effects: {refnd: [order]}\n", "conversations.yaml: effects: unknown tool 'refnd'.*'refund'"),
        ("effects: {refund: [order]}\nread_only: [refund]\n", "'refund' is declared read-only and has effects"),
        ("failed_wen: x\n", "conversations.yaml:2: .*failed_wen.*failed_when"),
        ("agent: loop.py:nobody\n", "there is no file"),
    ],
)
def test_a_description_that_is_wrong_is_refused_with_place_and_remedy(
    tmp_path: Path, rules: str, complaint: str
) -> None:
    with pytest.raises(ChaosAgentError, match=complaint):
        recorded(tmp_path, PAID, rules=rules)


def test_an_agent_of_ones_own_talks_to_the_recording(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir(parents=True)
    (tmp_path / "made/own_loop.py").write_text(OWN, "utf-8")

    target = recorded(tmp_path, PAID, rules=f"{RULES}agent: own_loop.py:agent\n")
    execution = run_of(target, "service:refund[1] service.lost_response(when=after)", config="default")

    assert violated(execution) == ["at-most-once"]
    assert execution.trace.outcome.message == "Your money is on its way."


OWN = """
async def agent(conversation):
    messages = list(conversation.opening)
    while True:
        answer = await conversation.model(messages)
        messages.append({"role": "assistant", **answer})
        if not answer["tool_calls"]:
            return answer["content"]
        for call in answer["tool_calls"]:
            attempt = conversation.tool(call["name"], call["arguments"])
            try:
                told = await attempt()
            except ConnectionError:
                told = await attempt()
            messages.append({"role": "tool", "content": told})
"""
