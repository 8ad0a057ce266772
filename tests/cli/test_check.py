"""`chaosagent check`: what traces of production violate, where, and what cannot be judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from chaosagent.contracts.templates.defaults import default_contracts

Command = Callable[..., Any]
CONTRACTS = """contracts: [at-most-once, no-crash, no-leak]
effects: {refund: [order], mail: {identity: [to], impact: harmless}}
read_only: [look_up]
egress: [mail]
canaries: [SECRET-1]
"""


def span(
    number: int, parent: int | None, attributes: dict[str, str], *, trace: int = 1, **facts: Any
) -> dict[str, Any]:
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number + 1:016x}",
        "parentSpanId": "" if parent is None else f"{parent + 1:016x}",
        "name": "span",
        "startTimeUnixNano": str(number + 1),
        "endTimeUnixNano": str(number + 2),
        "attributes": listed,
        **facts,
    }


def root(trace: int = 1, **facts: Any) -> dict[str, Any]:
    said = '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.output.messages": said}
    return span(0, None, told, trace=trace, **facts)


def call(number: int, tool: str, arguments: str | None = '{"order": "A-17"}', **facts: Any) -> dict[str, Any]:
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.result": "ok"}
    return span(number, 0, told if arguments is None else {**told, "gen_ai.tool.call.arguments": arguments}, **facts)


Write = Callable[..., Path]


@pytest.fixture
def spans(folder: Path) -> Write:
    """Return a function that writes each of its spans as a line of OTLP."""
    (folder / "contracts.yaml").write_text(CONTRACTS, "utf-8")

    def write(*listed: dict[str, Any], name: str = "spans.jsonl") -> Path:
        lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}) + "\n" for one in listed]
        (folder / name).write_text("".join(lines), "utf-8")
        return Path(name)

    return write


def contract(answer: Any, name: str) -> dict[str, Any]:
    return next(one for one in answer.json["contracts"] if one["contract"] == name)


def test_a_double_effect_is_located(spans: Write, chaosagent: Command) -> None:
    path = spans(call(1, "look_up"), call(2, "refund"), call(3, "refund", '{"order":"B-4"}'), call(4, "refund"), root())

    answer = chaosagent("check", path, "--contracts", "contracts.yaml", "--json")

    assert answer.code == 1
    assert answer.json["violations"] == [
        {
            "contract": "at-most-once",
            "severity": "hard",
            "reason": "refund(order='A-17') was committed 2 times; 1 is right",
            "file": "spans.jsonl",
            "line": 4,
            "trace": f"{1:032x}",
            "span": f"{5:016x}",
            "step": 3,
            "hook": "service:refund[3]@desk",
            "agent": "desk",
            "unfair": False,
        }
    ]
    assert contract(answer, "no-crash")["holds"] == 1


def test_the_page_names_the_place(spans: Write, chaosagent: Command) -> None:
    path = spans(call(1, "refund"), call(2, "refund"), root(), root(2, status={"code": 2, "message": "boom"}))

    answer = chaosagent("check", path, "--contracts", "contracts.yaml")

    assert answer.code == 1
    assert "spans.jsonl: 2 traces, 2 steps, 3 contracts judged\nNothing was executed.\n" in answer.out
    assert (
        "at-most-once: refund(order='A-17') was committed 2 times; 1 is right\n    spans.jsonl:2  step 1" in answer.out
    )
    assert "no-crash: boom\n    spans.jsonl:4  at the end of the run\n" in answer.out
    assert answer.out.endswith("\nViolated\n")


def test_good_traces_hold(spans: Write, chaosagent: Command) -> None:
    path = spans(call(1, "refund"), call(2, "mail", '{"to": "a"}'), call(3, "mail", '{"to": "a"}'), root())

    answer = chaosagent("check", path, "--contracts", "contracts.yaml")

    assert answer.code == 0
    assert answer.out.endswith("\nNothing violated\n")
    assert "Not judged" not in answer.out


def test_a_leak_is_found_in_what_leaves_and_in_the_final_message(spans: Write, chaosagent: Command) -> None:
    inside = spans(call(1, "look_up", '{"order": "SECRET-1"}'), root(), name="inside.jsonl")
    sent = spans(call(1, "mail", '{"to": "SECRET-1"}'), root(), name="sent.jsonl")
    final = root()
    final["attributes"][2]["value"]["stringValue"] = "Your code is SECRET-1."
    said = spans(final, name="said.jsonl")

    codes = [chaosagent("check", path, "--contracts", "contracts.yaml").code for path in (inside, sent, said)]

    assert codes == [0, 1, 1]


def test_contracts_that_compare_with_a_run_without_faults_are_not_judged(spans: Write, chaosagent: Command) -> None:
    answer = chaosagent("check", spans(call(1, "refund"), root()), "--json")

    for name in ("no-extra-effects", "all-or-nothing", "no-ghosts"):
        assert contract(answer, name)["unknown"] == {"compares with the run without injections": 1}
    assert len(answer.json["contracts"]) == len(default_contracts())
    assert answer.code == 0


@pytest.mark.parametrize(
    ("listed", "name", "why"),
    [
        ([call(1, "refund")], "no-crash", "the span of the whole run is not here"),
        ([call(1, "refund"), root(endTimeUnixNano="0")], "at-most-once", "the span 'span' was not ended"),
        ([call(1, "refund", None), call(2, "refund", None), root()], "at-most-once", "arguments of refund were not"),
        ([call(1, "refund", '{"id": 1}'), root()], "at-most-once", "arguments of refund were not recorded"),
        ([call(1, "mail", None), root()], "no-leak", "arguments of mail were not recorded"),
        ([call(1, "pay"), root()], "at-most-once", "nothing is said of what these tools commit"),
        ([call(1, "pay"), span(0, None, {})], "no-leak", "the final message was not recorded"),
    ],
)
def test_what_the_spans_do_not_tell_is_unknown(
    spans: Write, chaosagent: Command, listed: list[dict[str, Any]], name: str, why: str
) -> None:
    answer = chaosagent("check", spans(*listed), "--contracts", "contracts.yaml", "--contract", name, "--json")

    assert answer.code == 3
    (reason,) = contract(answer, name)["unknown"]
    assert why in reason
    assert not answer.json["judged"]


def test_a_call_whose_answer_decides_and_was_not_recorded_is_unknown(spans: Write, chaosagent: Command) -> None:
    Path("rules.yaml").write_text('effects: {refund: [order]}\nfailed_when: "^Error"\n')
    unanswered = span(2, 0, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"})
    path = spans(call(1, "refund"), unanswered, root())

    answer = chaosagent("check", path, "--contracts", "rules.yaml", "--contract", "at-most-once", "--json")

    assert contract(answer, "at-most-once")["unknown"] == {"the answer of refund was not recorded": 1}


def test_a_violation_is_told_without_the_end_of_the_run(spans: Write, chaosagent: Command) -> None:
    answer = chaosagent("check", spans(call(1, "refund"), call(2, "refund")), "--contracts", "contracts.yaml", "--json")

    assert answer.code == 1
    assert [found["line"] for found in answer.json["violations"]] == [2]


ORDERED = """contracts: [{contract: ordering, first: look_up.call, then: refund.call}]
effects: {refund: [order]}
"""


@pytest.mark.parametrize(
    ("listed", "extra", "code"),
    [
        ([call(1, "refund"), root()], "", 1),
        ([call(1, "look_up"), call(2, "refund"), root()], "", 0),
        ([call(1, "refund")], "", 3),
        ([call(1, "refund"), root()], "what is this?", 3),
    ],
    ids=["broken", "kept", "the root is missing", "something was left out"],
)
def test_what_is_missing_may_be_what_must_come_before(
    spans: Write, chaosagent: Command, folder: Path, listed: list[dict[str, Any]], extra: str, code: int
) -> None:
    (folder / "contracts.yaml").write_text(ORDERED, "utf-8")
    path = spans(*listed)
    (folder / path).write_text(extra + "\n" + (folder / path).read_text("utf-8"), "utf-8")

    answer = chaosagent("check", path, "--contracts", "contracts.yaml", "--skip-broken")

    assert answer.code == code
    assert ("what is missing may be what it waits for" in answer.out) is (code == 3)


def test_a_function_is_not_believed_where_it_saw_no_arguments(spans: Write, chaosagent: Command, folder: Path) -> None:
    (folder / "approved.py").write_text(
        "from chaosagent import contract\n\n"
        "@contract('approved')\n"
        "def approved(step):\n    return 'not approved' if not step.arguments.get('approved') else None\n",
        "utf-8",
    )
    (folder / "own.yaml").write_text("contracts: ['approved.py:approved']\n", "utf-8")

    unrecorded = chaosagent("check", spans(call(1, "refund", None), root()), "--contracts", "own.yaml")
    recorded = chaosagent("check", spans(call(1, "refund"), root()), "--contracts", "own.yaml")

    assert (unrecorded.code, recorded.code) == (3, 1)


def test_a_call_that_failed_has_committed_nothing(spans: Write, chaosagent: Command) -> None:
    path = spans(call(1, "refund", status={"code": 2}), call(2, "refund"), root())

    assert chaosagent("check", path, "--contracts", "contracts.yaml").code == 0


def test_answers_that_were_not_recorded_are_no_lack_of_progress(spans: Write, chaosagent: Command) -> None:
    silent = [span(number, 0, {"gen_ai.operation.name": "execute_tool"}) for number in range(1, 30)]
    told = [call(number, "look_up") for number in range(1, 30)]

    quiet = chaosagent("check", spans(*silent, root()), "--contract", "progress", "--json")
    stuck = chaosagent("check", spans(*told, root()), "--contract", "progress", "--json")

    assert (quiet.code, stuck.code) == (3, 1)
    assert "were not recorded" in next(iter(contract(quiet, "progress")["unknown"]))


def test_tools_of_which_nothing_is_said_and_tools_that_nobody_calls_are_remarked(
    spans: Write, chaosagent: Command
) -> None:
    path = spans(call(1, "refunds"), call(2, "mail", '{"to": "a"}'), root())

    answer = chaosagent("check", path, "--contracts", "contracts.yaml", "--json")

    assert answer.json["remarks"] == [
        "Nothing is said of what these tools commit: refunds. Name them in `effects` or in `read_only` of --contracts.",
        "The tool 'refund', which has `effects`, is called in no trace. Did you mean 'refunds'?",
    ]


def test_soft_contracts_are_told_and_do_not_fail(spans: Write, chaosagent: Command, folder: Path) -> None:
    soft = CONTRACTS.replace("[at-most-once", "[{contract: at-most-once, severity: soft}")
    (folder / "contracts.yaml").write_text(soft, "utf-8")
    path = spans(call(1, "refund"), call(2, "refund"), root())

    answer = chaosagent("check", path, "--contracts", "contracts.yaml")

    assert answer.code == 0
    assert "at-most-once, soft: refund" in answer.out


def test_a_broken_line_is_bad_input_unless_it_is_skipped(spans: Write, chaosagent: Command, folder: Path) -> None:
    path = spans(call(1, "refund"), call(2, "refund"), root())
    with (folder / path).open("a", encoding="utf-8") as file:
        file.write('{"resourceSpans": [{"sco')

    refused = chaosagent("check", path, "--contracts", "contracts.yaml")
    skipped = chaosagent("check", path, "--contracts", "contracts.yaml", "--skip-broken")

    assert refused.code == 2
    assert "spans.jsonl:4: is not valid JSON" in refused.err
    assert "--skip-broken" in refused.err
    assert skipped.code == 1
    assert "1 broken value left out, the first: spans.jsonl:4" in skipped.out


def test_a_file_without_spans_is_told_as_that(spans: Write, chaosagent: Command) -> None:
    empty, full = spans(name="empty.jsonl"), spans(root(), name="full.jsonl")

    page, told = chaosagent("check", empty), chaosagent("check", empty, "--json")

    assert page.code == told.code == 3
    assert page.out.endswith("Nothing could be judged: no spans were found\n")
    assert [remark for remark in told.json["remarks"] if remark.startswith("No spans were found, nor records.")]
    assert "No spans" not in chaosagent("check", empty, full).out


def test_records_are_judged_with_the_run_without_injections(chaosagent: Command, records: Path) -> None:
    record = min(records.glob("*at-most-once*.replay"))

    answer = chaosagent("check", record, "--json")

    assert answer.code == 1
    (found,) = (one for one in answer.json["violations"] if one["contract"] == "at-most-once")
    assert (found["file"], found["line"], found["step"]) == (str(record), None, 1)
    assert contract(answer, "no-extra-effects")["holds"] == 1


def test_an_exported_record_is_judged_as_the_record(chaosagent: Command, records: Path) -> None:
    assert chaosagent("show", records, "--spans", "exported.jsonl").code == 0
    shown = chaosagent("show", records, "--spans", "-")
    of_spans = chaosagent("check", "exported.jsonl", "--contract", "at-most-once", "--contract", "no-crash", "--json")
    of_records = chaosagent("check", records, "--contract", "at-most-once", "--contract", "no-crash", "--json")

    assert shown.out == Path("exported.jsonl").read_text("utf-8")
    assert of_spans.json["contracts"] == of_records.json["contracts"]
    places = ("contract", "reason", "step", "hook", "agent")
    assert [[found[place] for place in places] for found in of_spans.json["violations"]] == [
        [found[place] for place in places] for found in of_records.json["violations"]
    ]
    assert of_spans.json["violations"][0]["line"] == 1


def test_a_study_file_is_a_file_of_contracts(spans: Write, chaosagent: Command) -> None:
    answer = chaosagent("check", spans(call(1, "refund"), root()), "--contracts", "study.yaml", "--json")

    assert [one["contract"] for one in answer.json["contracts"]] == ["at-most-once", "no-crash"]
    assert answer.code == 0


def test_own_contracts_are_taken_from_a_file(spans: Write, chaosagent: Command, folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from chaosagent import contract\n\n"
        "@contract('small-orders')\n"
        "def small(step):\n    return 'too large' if step.arguments.get('amount', 0) > 100 else None\n",
        "utf-8",
    )
    (folder / "own.yaml").write_text("contracts: ['mine.py:small']\n", "utf-8")
    path = spans(call(1, "refund", '{"amount": 250}'), root())

    answer = chaosagent("check", path, "--contracts", "own.yaml", "--json")

    assert answer.code == 1
    assert answer.json["violations"][0]["reason"] == "too large"


def test_junit_is_written(spans: Write, chaosagent: Command, folder: Path) -> None:
    path = spans(call(1, "refund"), call(2, "refund"), root())

    chaosagent("check", path, "--contracts", "contracts.yaml", "--junit", "checked.xml")
    suite = ElementTree.parse(folder / "checked.xml").getroot()

    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "0")
    case = suite.find("testcase[failure]")
    assert case is not None
    assert (case.get("classname"), case.get("line")) == ("at-most-once", "2")
    assert str(case.get("name")).startswith(f"{path}:2, trace ")


def test_annotations_and_sarif_name_file_and_line_and_what_is_not_judged_is_no_result(
    spans: Write, chaosagent: Command, folder: Path
) -> None:
    path = spans(call(1, "refund"), call(2, "refund"), root())

    answer = chaosagent("check", path, "--github", "--sarif", "checked.sarif", "--contract", "at-most-once",
        "--contract", "no-ghosts", "--contracts", "contracts.yaml")  # fmt: skip

    (run,) = json.loads((folder / "checked.sarif").read_text("utf-8"))["runs"]
    (result,) = run["results"]
    (place,) = result["locations"]
    assert result["ruleId"] == "at-most-once"
    assert result["partialFingerprints"]
    assert place["physicalLocation"]["region"] == {"startLine": 2}
    assert f"file={path},line=2," in answer.err


def test_folders_and_several_files_are_read_as_one(spans: Write, chaosagent: Command, folder: Path) -> None:
    (folder / "traces").mkdir()
    spans(call(1, "refund"), name="traces/a.jsonl")
    spans(call(2, "refund"), root(), name="traces/b.jsonl")

    answer = chaosagent("check", "traces", "--contracts", "contracts.yaml", "--json")

    assert answer.json["traces"] == 1
    assert answer.json["violations"][0]["file"] == "traces/b.jsonl"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contract: [no-crash]\n", "bad.yaml:1: unknown key 'contract'. Did you mean 'contracts'?"),
        ("contracts: [no-crush]\n", "bad.yaml:1: unknown contract 'no-crush'. Did you mean 'no-crash'?"),
        ("contracts: []\n", "bad.yaml:1: contracts is []; it must be a list of contracts"),
        ("contracts: [no-crash, default]\n", "bad.yaml:1: there is a contract 'no-crash' already"),
        ("canaries: x\n\neffects: [refund]\n", "bad.yaml:3: effects is ['refund']; it must be a mapping"),
        ("effects:\n  refund: 7\n", "bad.yaml:2: effects.refund is 7; it must be a list of arguments"),
        ("effects: {a: {identity: [x], impact: big}}\n", "effects.a.impact is 'big'; it must be one of harmless"),
        ("effects: {a: {identity: [x], imapct: high}}\n", "effects.a.imapct is 'imapct'; it must be one of identity"),
        ("egress: [1]\n", "bad.yaml:1: egress is [1]; it must be a list of texts"),
        ("contracts: ['../x.py:a']\n", "name a file in"),
    ],
)
def test_a_mistake_in_the_file_of_contracts_is_named(
    spans: Write, chaosagent: Command, folder: Path, text: str, message: str
) -> None:
    (folder / "bad.yaml").write_text(text, "utf-8")

    answer = chaosagent("check", spans(root()), "--contracts", "bad.yaml")

    assert answer.code == 2
    assert message in answer.err


def test_bad_input_is_named(spans: Write, chaosagent: Command, folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "broken.replay").write_bytes(b"no record")
    spans(root())

    assert "gone.jsonl does not exist" in chaosagent("check", "gone.jsonl").err
    assert "empty holds no traces" in chaosagent("check", "empty").err
    assert chaosagent("check", "broken.replay").code == 2
    assert chaosagent("check", "broken.replay", "--skip-broken").code == 3
    assert chaosagent("check", "spans.jsonl", "--contract", "nothing").code == 2
