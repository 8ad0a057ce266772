"""A counterexample told: all of it, in order, and nothing that acts on the terminal."""

import copy
import json
import unicodedata
from dataclasses import replace
from pathlib import Path

from chaosagent.canonical import pack
from chaosagent.proxy.session import REFERENCE
from chaosagent.replays.record import SESSION_REFERENCE, Proof, ReplayRecord, record_of
from chaosagent.report.findings import Findings
from chaosagent.report.findings_json import counterexample_json
from chaosagent.report.page import Look
from chaosagent.report.recordings import STEPS_SHOWN, session_story
from chaosagent.report.story import compact, in_order, quantity, story_json, story_of, violation_of, window_of
from chaosagent.study.certificate import RULES
from chaosagent.testing.steps import make_step
from chaosagent.vocabulary import Ending


def test_nobody_is_blamed_for_what_only_the_end_of_a_run_shows(findings: Findings) -> None:
    found = next(found for found in findings.result.counterexamples if found.contract == "objective")
    record = record_of(found, findings.plan)

    violation = violation_of(record)
    assert violation is not None
    assert violation.agent == "action"  # who acted last, as it is stored
    assert "✗ objective is broken at the end of the run: the objective was not met" in story_of(record).text()
    assert story_json(record)["agent"] is None
    assert counterexample_json(found, findings)["agent"] is None


def test_the_story_has_schedule_trace_break_effects_necessity_and_proof(record: ReplayRecord) -> None:
    story = story_of(record, Path("a.replay")).text()

    headings = [line for line in story.splitlines() if line and not line.startswith(" ")]
    assert [heading.split(":")[0] for heading in headings[2:]] == [
        "One fault (cost 1.1) is enough",
        "The schedule, cost 1.1",
        "What happened",
        "What was committed, and what the agents were told",
        "Why each fault is necessary",
        "What is proved",
        "Run it again",
    ]
    lines = story.splitlines()
    hit = next(index for index, line in enumerate(lines) if line.startswith("  !"))
    assert "service:payments[1] refund(order=" in lines[hit]
    assert "connection: connection reset by peer" in lines[hit]
    assert "injected: service.lost_response, the connection is reset; the service has acted" in lines[hit + 1]
    assert "committed: payments.refund(" in lines[hit + 2]
    assert "✗ at-most-once is broken here by action" in story
    assert "certified minimum" in story
    assert "chaosagent replay --mode exact a.replay" in story


def test_the_command_is_quoted_where_the_path_has_blanks(record: ReplayRecord) -> None:
    story = story_of(record, Path("my folder/a.replay")).text()

    assert "chaosagent replay --mode exact 'my folder/a.replay'" in story


def test_only_steps_that_matter_are_shown_and_the_others_counted(record: ReplayRecord) -> None:
    short, whole = story_of(record).text(), story_of(record, whole=True).text()

    assert "What happened: 5 of 14 steps" in short
    assert "... 5 more steps (--all shows them)" in short
    assert "What happened: 14 of 14 steps" in whole
    assert "more steps" not in whole
    assert whole.count("service:log[") == 12


def test_payloads_are_cut_unless_all_is_asked_for(record: ReplayRecord) -> None:
    text, answer = f"{'x' * 500}END", f"{'y' * 500}{chr(27)}END"
    step = make_step(7, "service:log", "write", arguments={"text": text}, answer=answer)
    steps = (*record.trace.steps[:7], step, *record.trace.steps[8:])
    outcome = replace(record.trace.outcome, message="z" * 2_000)
    long = replace(record, trace=replace(record.trace, steps=steps, outcome=outcome))

    short, whole = story_of(long).text(), story_of(long, whole=True).text()

    assert "more characters" in short
    assert "more characters" not in whole
    assert f'write(text="{text}") → "{answer}"'.replace(chr(27), "\\u001b") in whole
    assert "z" * 2_000 in whole


def test_the_window_holds_injections_effects_and_the_violation(record: ReplayRecord) -> None:
    assert window_of(record.trace, 7) == [5, 6, 7, 8, 9]
    assert window_of(record.trace, -1) == [6, 7]


def test_what_was_committed_is_set_against_what_was_told(record: ReplayRecord) -> None:
    story = story_of(record).text()

    row = next(line for line in story.splitlines() if "2×    1×" in line)
    assert "step 6: connection: connection reset by peer; step 7: " in row


def test_nothing_that_a_target_says_acts_on_the_terminal(record: ReplayRecord) -> None:
    for look in (Look(), Look(columns=60), Look(ascii_only=True)):
        story = story_of(record, Path("a\x1b[31m.replay"), whole=True).text(look)

        assert not [letter for letter in story if unicodedata.category(letter)[0] == "C" and letter != "\n"]
        assert r"\x1b[2J\u202e\x07" in story
        story.encode("utf-8")


def test_what_is_not_certified_says_so(record: ReplayRecord) -> None:
    weaker = replace(record, proof=Proof(certified=False, lower_bound=0.0, text="nothing is proved", necessity=()))

    story = story_of(weaker).text()

    assert "  not certified" in story
    assert "nothing is proved" in story
    assert "Why each fault is necessary" not in story
    minimal = replace(record, proof=replace(record.proof, certified=False))
    assert "  minimal, not certified" in story_of(minimal).text()


def test_each_rule_that_a_proof_names_is_explained_in_a_line(record: ReplayRecord) -> None:
    named = replace(record, proof=replace(record.proof, text="C1: 3 pruned by R2, R33 is no rule"))

    lines = story_of(named).text().splitlines()

    assert [line.strip() for line in lines if line.startswith("    R")] == [f"R2: {RULES['R2']}"]


def test_a_violation_without_a_reason_leaves_no_colon(record: ReplayRecord) -> None:
    verdict = record.trace.verdict("at-most-once")
    assert verdict.violation is not None
    silent = verdict._replace(violation=verdict.violation._replace(reason=""))
    missing = verdict._replace(violation=None)
    told = {}
    for changed in (silent, missing):
        trace = replace(record.trace, verdicts=(changed, *record.trace.verdicts[1:]))
        told[changed] = story_of(replace(record, trace=trace)).text()

    assert "is enough to break at-most-once.\n" in told[silent]
    assert "is enough to break at-most-once; in the run that is kept here it held.\n" in told[missing]


def test_a_long_request_is_cut_in_the_middle(record: ReplayRecord) -> None:
    first = record.trace.steps[0]
    step = copy.copy(first)
    step.request = pack(["write", {"text": f"begin{'x' * 500}end"}])
    trace = replace(record.trace, steps=(step, *record.trace.steps[1:]))

    story = story_of(replace(record, trace=trace), whole=True).text()

    assert 'write(text="beginxxx' in story
    assert 'xxxend")' in story


def test_a_crash_is_told_with_its_place(record: ReplayRecord) -> None:
    trace = replace(record.trace, ending=Ending.CRASHED, ending_detail="KeyError: id", crashed_at="agent.py:3 in pay")

    assert "crashed: KeyError: id (at agent.py:3 in pay)" in story_of(replace(record, trace=trace)).text()
    assert story_json(replace(record, trace=trace))["crashed_at"] == "agent.py:3 in pay"


def test_faults_are_told_in_the_order_in_which_they_struck(record: ReplayRecord) -> None:
    assert in_order(record) == list(record.schedule)


def test_the_story_as_plain_data_can_be_written_as_json(record: ReplayRecord) -> None:
    story = story_json(record)

    read = json.loads(json.dumps(story))
    assert read["contract"] == "at-most-once"
    assert len(read["steps"]) == 14
    assert [step["index"] for step in read["steps"] if step["injected"]] == [6]
    assert read["effects_without_faults"] == read["effects"][:1]
    assert read["violated"] == ["at-most-once"]


def test_numbers_are_written_as_people_write_them() -> None:
    assert [quantity(number, "search", "searches") for number in (0, 1, 2, 11)] == [
        "no searches",
        "one search",
        "two searches",
        "11 searches",
    ]


def test_data_that_is_no_json_is_shown_nevertheless() -> None:
    assert compact({"a": [1, None]}) == '{"a": [1, null]}'
    assert compact(b"\x00") == "\"b'\\\\x00'\""
    assert compact(float("nan")) == "NaN"


def _session(record: ReplayRecord) -> ReplayRecord:
    return replace(record, target_reference=SESSION_REFERENCE, proof=Proof(False, 0.0, "a session", ()))


def test_a_session_is_told_as_a_recording_and_not_as_a_finding(record: ReplayRecord) -> None:
    told = session_story(_session(record), Path("a b.replay")).text()

    calls = quantity(len(record.trace.steps), "call").capitalize()
    headings = [line for line in told.splitlines() if line and not line.startswith(" ")]
    assert [heading.split(":")[0].split("   ")[0] for heading in headings] == [
        "A session of `chaosagent proxy`",
        f"{calls} crossed, one injection landed. It is a recording and no finding",
        "The schedule",
        "What happened",
        "Let it answer again",
    ]
    assert "chaosagent proxy --replay 'a b.replay'" in told
    assert record.contract not in told
    assert "breaks" not in told


def test_a_session_in_which_nothing_landed_shows_its_first_steps(record: ReplayRecord) -> None:
    quiet = copy.copy(record.trace.steps[0])
    quiet.landed, quiet.effects = None, ()
    steps = (quiet,) * (STEPS_SHOWN + 5)
    session = _session(replace(record, trace=replace(record.trace, steps=steps)))

    told, whole = session_story(session).text(), session_story(session, whole=True).text()

    assert f"{STEPS_SHOWN} of {STEPS_SHOWN + 5} steps" in told
    assert "nothing of it landed" in told
    assert "... 5 more steps" in told
    assert "more steps" not in whole


def test_the_data_of_a_session_name_no_contract(record: ReplayRecord) -> None:
    session, finding = story_json(_session(record)), story_json(record)

    assert (session["session"], session["contract"], session["signature"], session["lower_bound"]) == (
        True,
        *[None] * 3,
    )
    assert (finding["session"], finding["contract"]) == (False, record.contract)


def test_sessions_are_known_by_what_they_are_called() -> None:
    assert SESSION_REFERENCE == REFERENCE
