"""Steps: raw while monitors look, stored afterwards, equal when everything that they tell is equal."""

from typing import Any

import pytest

from chaosagent.canonical import pack
from chaosagent.testing.steps import make_note, make_step
from chaosagent.trace.diff import first_difference
from chaosagent.trace.step import CANONICAL_FIELDS, Decision, Landed, Link, Step, StepKind
from chaosagent.trace.trace import ContractVerdict, Trace, Violation
from chaosagent.vocabulary import Effect, Ending, Failure, Impact, Landing, Mediation, Outcome, Verdict


def made(**facts: Any) -> Step:
    """Return a stored step with a request and a response as runs write them."""
    step = make_step(0, **{key: value for key, value in facts.items() if key not in ("request", "response")})
    step.request = facts.get("request", pack(["call", {"id": 1}]))
    step.response = facts.get("response", pack([{"ok": True}, None]))
    step.seal()
    return step


DIFFERENT: list[tuple[str, dict[str, Any]]] = [
    ("kind", {"kind": StepKind.LATE}),
    ("agent", {"agent": "a"}),
    ("role", {"role": "r"}),
    ("interface", {"interface": "service:other"}),
    ("occurrence", {"occurrence": 2}),
    ("attempt", {"attempt": 1}),
    ("operation", {"operation": "other"}),
    ("arguments", {"request": pack(["call", {"id": 2}])}),
    ("decision", {"decision": Decision(Mediation.REWRITE)}),
    ("decision", {"decision": Decision(Mediation.ALLOW, "why")}),
    ("decision", {"decision": Decision(Mediation.ALLOW, "", b"x")}),
    ("failure", {"failure": Failure("timeout", "slow"), "response": pack([None, ["timeout", "slow", None, None]])}),
    ("answer", {"response": pack([{"ok": False}, None])}),
    ("asked_at", {"asked_at": 7.0}),
    ("arrived_at", {"arrived_at": 7.0}),
    ("landed", {"landed": Landed("i", "o", Landing.LANDED, "d")}),
    ("effects", {"effects": [Effect("pay", {})]}),
    ("effects", {"effects": [Effect("pay", {}, Impact.HARMLESS)]}),
    ("links", {"links": [Link("a", "supports", "b")]}),
    ("inside", {"inside": "service:outer[1]"}),
]


def trace(*steps: Step, **facts: Any) -> Trace:
    known = {"task_id": "t", "config_digest": "c", "seed": 0, "ending": Ending.FINISHED, "ending_detail": ""}
    return Trace(steps=steps, **{**known, "outcome": Outcome(), "verdicts": (), **facts})


@pytest.mark.parametrize(("field", "facts"), DIFFERENT)
def test_every_field_is_covered_by_the_digest_and_named_as_the_first_difference(
    field: str, facts: dict[str, Any]
) -> None:
    one, other = trace(made()), trace(made(**facts))

    found = first_difference(one, other)

    assert one.digest != other.digest
    assert found is not None
    assert (found.step, found.field) == (0, field)
    assert found.expected != found.got


def test_each_field_of_the_canonical_form_has_a_name() -> None:
    step = made()
    assert len(step.canonical()) == len(CANONICAL_FIELDS) - 1  # without a soft error the digest is what it always was
    step.soft_error = "it matches '^Error'"

    assert len(step.canonical()) == len(CANONICAL_FIELDS)


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("task_id", {"task_id": "u"}),
        ("seed", {"seed": 2**80}),
        ("config_digest", {"config_digest": "d"}),
        ("ending", {"ending": Ending.DEADLOCK}),
        ("ending_detail", {"ending_detail": "why"}),
        ("outcome", {"outcome": Outcome("done")}),
        ("outcome", {"outcome": Outcome(state=[1])}),
        ("outcome", {"outcome": Outcome(success=False)}),
        ("outcome", {"outcome": Outcome(refused=True)}),
        ("verdicts", {"verdicts": (ContractVerdict("a", Verdict.VIOLATED, -1.0, Violation(0, "", "r")),)}),
        ("verdicts", {"verdicts": (ContractVerdict("a", Verdict.HOLDS, 1.0, unfair=True),)}),
        ("links", {"links": (Link("outcome", "derived_from", "service:crm[1]"),)}),
    ],
)
def test_how_a_run_ended_is_covered_by_the_digest_and_compared_last(field: str, facts: dict[str, Any]) -> None:
    one, other = trace(made()), trace(made(), **facts)

    found = first_difference(one, other)

    assert one.digest != other.digest
    assert found is not None
    assert (found.step, found.field) == (1, field)


def test_the_wording_of_a_reason_makes_no_difference() -> None:
    def judged(step: int, reason: str) -> Trace:
        violation = Violation(step, "", reason)
        return trace(made(), verdicts=(ContractVerdict("a", Verdict.VIOLATED, -1.0, violation),))

    old, new, elsewhere = judged(0, "within its limit of the next timer"), judged(0, "within 5 s"), judged(1, "")

    assert first_difference(old, new) is None
    assert old.digest == new.digest
    assert first_difference(old, elsewhere) is not None


def test_the_first_of_several_differences_is_named_even_where_numbers_are_no_numbers() -> None:
    nan = pack(["call", {"id": float("nan")}])

    found = first_difference(trace(made(request=nan, asked_at=1.0)), trace(made(request=nan, asked_at=2.0)))

    assert found is not None
    assert found.field == "asked_at"


def test_long_values_are_cut_in_a_difference_and_it_says_so() -> None:
    found = first_difference(trace(made()), trace(made(response=pack(["x" * 1_000, None]))))

    assert found is not None
    assert found.got.endswith("702 more characters")


def test_equal_traces_have_equal_digests() -> None:
    assert trace(made()).digest == trace(made()).digest
    assert first_difference(trace(made()), trace(made())) is None


def test_the_ledger_and_the_landed_injections_are_those_of_the_steps_in_order() -> None:
    one, other = Effect("a", {}), Effect("b", {})
    landed = Landed("i", "o", Landing.NO_CHANGE, "d")
    found = trace(made(effects=[one]), made(), made(effects=[other, one], landed=landed))

    assert found.effects == (one, other, one)
    assert found.landed == (landed,)


def test_a_step_tells_arguments_and_answer_from_what_is_stored() -> None:
    step = made()

    assert step.arguments == {"id": 1}
    assert step.answer == {"ok": True}
    assert made(response=b"").answer is None


def test_a_hook_reads_as_people_type_it() -> None:
    assert made().hook == "service:tool[1]"
    assert made(agent="a", occurrence=2, attempt=3).hook == "service:tool[2.3]@a"


def test_a_step_says_in_one_line_what_it_is() -> None:
    assert repr(made(agent="a")) == "<step 0: service:tool[1]@a call answered>"
    assert repr(made(failure=Failure("timeout", ""))) == "<step 0: service:tool[1] call timeout>"
    assert make_note(1, "detected").kind is StepKind.NOTE


def test_what_monitors_are_shown_is_dropped_when_the_step_is_sealed() -> None:
    step = made()
    step.show({"id": "raw"}, "raw")

    assert (step.arguments, step.answer) == ({"id": "raw"}, "raw")
    step.seal()
    assert (step.arguments, step.answer) == ({"id": 1}, {"ok": True})


def test_arguments_that_are_not_shown_are_read_once_from_the_request() -> None:
    step = made()
    step.show(None, "raw")

    assert step.arguments == {"id": 1}
    assert step.arguments is step.arguments


def test_what_is_no_number_does_not_differ_from_itself() -> None:
    one, other = (trace(outcome=Outcome(state={"margin": float("nan")})) for _ in range(2))

    assert first_difference(one, other) is None


def test_a_whole_number_differs_from_a_fraction_of_the_same_size() -> None:
    one, other = trace(outcome=Outcome(state=1)), trace(outcome=Outcome(state=1.0))

    found = first_difference(one, other)

    assert found is not None
    assert found.field == "outcome"


def test_a_number_beyond_64_bits_has_a_digest() -> None:
    one, other = (trace(made(failure=Failure("status", "busy", 429, 2**70 + more))) for more in (0, 1))

    assert one.digest != other.digest


def test_where_a_run_crashed_is_no_part_of_what_happened() -> None:
    one, other = trace(made(), crashed_at="agent.py:3 in pay"), trace(made(), crashed_at="agent.py:4 in pay")

    assert one.digest == other.digest
    assert first_difference(one, other) is None
