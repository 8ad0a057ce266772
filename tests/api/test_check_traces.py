"""`chaosagent.check` takes what a file of contracts says, and agrees with the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import chaosagent
from chaosagent.cli.main import main


@chaosagent.contract("own")
def own_contract(step: object) -> bool:  # noqa: ARG001
    return True


def span(number: int, order: str) -> str:
    """Return a line with a span of a tool that refunds an order, in a run that has ended."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.arguments": json.dumps({"order": order}),
    }
    run = {"traceId": "5b8efff798038103d269b633813fc60c", "startTimeUnixNano": str(10**9 * number)}
    called = {"spanId": f"{number:016x}", "parentSpanId": "f" * 16, "name": "execute_tool refund"}
    end = {"endTimeUnixNano": str(10**9 * number + 1)}
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [{**run, **called, **end, "attributes": listed}]}]}]}
    )


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join([span(1, "A-17"), span(2, "A-17")]) + "\n")
    return path


def test_a_mapping_says_what_a_file_of_contracts_says(spans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (spans.parent / "contracts.yaml").write_text("contracts: [at-most-once]\neffects: {refund: [order]}\n")

    found = chaosagent.check(spans, {"contracts": ["at-most-once"], "effects": {"refund": ["order"]}})

    assert main(["check", str(spans), "--contracts", str(spans.parent / "contracts.yaml")]) == 1
    assert str(found) == capsys.readouterr().out.rstrip("\n")
    assert (found.violated, found.held, found.traces, found.steps) == (True, False, 1, 2)
    assert [finding.where.line for finding in found.findings] == [2]
    assert found == chaosagent.check([str(spans)], spans.parent / "contracts.yaml")


def test_a_contract_of_this_program_is_checked(spans: Path) -> None:
    @chaosagent.contract("no-refunds")
    def no_refunds(step: object) -> bool:
        return getattr(step, "interface", "") != "service:refund"

    found = chaosagent.check(spans, [no_refunds, "no-crash"])

    assert [(finding.contract, finding.step) for finding in found.findings] == [("no-refunds", 0)]


def test_what_is_not_allowed_is_refused_where_it_is_said(spans: Path) -> None:
    with pytest.raises(chaosagent.UsageError, match=r"test_check_traces\.py:\d+: unknown key 'efects'.*'effects'"):
        chaosagent.check(spans, {"efects": {}})  # type: ignore[arg-type]  # the test
    with pytest.raises(chaosagent.UsageError, match=r"give a list: check\(traces, \[contract\]\)"):
        chaosagent.check(spans, chaosagent.never("a.b", id="n"))  # type: ignore[arg-type]  # the test
    with pytest.raises(chaosagent.UsageError, match=r"does not exist\. Name files of spans"):
        chaosagent.check(spans.parent / "nothing.jsonl")


def test_a_contract_that_does_not_exist_is_refused_with_those_that_do() -> None:
    here = f"{__name__}:own_contracts"

    with pytest.raises(chaosagent.UsageError, match=r"unknown contract 'no-leek'\. Did you mean 'no-leak'"):
        chaosagent.check([], ["no-leek"])
    with pytest.raises(chaosagent.UsageError, match=r"Did you mean 'own_contract'\? The contracts of the module are "):
        chaosagent.check([], [here])
    with pytest.raises(chaosagent.UsageError, match="The contracts that need no module are all-or-nothing"):
        chaosagent.check([], ["no_such_module:thing"])


def test_rules_may_be_objects_and_functions(tmp_path: Path) -> None:
    calls = [{"id": "c", "function": {"name": "book", "arguments": '{"room": 1}'}}] * 2
    answers = [{"role": "tool", "tool_call_id": "c", "content": text} for text in ("Error: full", "booked")]
    talk = [{"role": "assistant", "tool_calls": calls}, *answers, {"role": "assistant", "content": "Booked."}]
    (tmp_path / "talk.json").write_text(json.dumps({"messages": talk}), "utf-8")

    def violated(**rules: Any) -> bool:
        said: Any = {"contracts": ["at-most-once"], **rules}
        return chaosagent.check(tmp_path / "talk.json", said).violated

    assert violated(effects={"book": ["room"]})
    assert violated(effects={"book": chaosagent.effect("room")})
    assert violated(effects={"book": lambda arguments, _: chaosagent.Effect("b", {"room": arguments["room"]})})
    assert not violated(effects={"book": chaosagent.effect("room", idempotent=True)})
    assert not violated(effects={"book": ["room"]}, failed_when=lambda _, answer: answer.startswith("Error"))
    with pytest.raises(chaosagent.UsageError, match="looks like a function"):
        violated(effects={"book": ["eff.py:book"]})
