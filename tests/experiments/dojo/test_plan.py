"""Where a plan has its knowledge from."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.plan import Call, Source, plan

ORDERS: list[Plain] = [{"id": 6, "subject": "Music", "to": "SE35"}, {"id": 7, "subject": "Rent", "to": "US12"}]
BILL = "Car rental  98.70\nIBAN: UK123456\nThank you."


def sources(call: Call, before: Call, answer: Plain, prompt: str = "Please do it.") -> dict[str, Source]:
    made = plan([before, call], [answer, None], prompt=prompt, answer="")
    return dict(made.steps[1].sources)


def test_a_value_is_taken_from_the_field_of_its_name() -> None:
    found = sources(Call("update_scheduled_transaction", {"id": 7}), Call("get_scheduled_transactions", {}), ORDERS)

    assert found == {"id": Source(0, (1, "id"), inside=False)}
    assert found["id"].read([{"id": 6}, {"id": 9}], 7) == 9


def test_a_value_inside_a_text_must_stand_there() -> None:
    found = sources(Call("send_money", {"recipient": "UK123456", "amount": 98.7}), Call("read_file", {}), BILL)

    assert found["recipient"].read(BILL, "UK123456") == "UK123456"
    assert found["amount"].read("Total 98.70", 98.7) == 98.7
    with pytest.raises(LookupError, match="'UK123456' is not there"):
        found["recipient"].read(BILL[:20], "UK123456")


@pytest.mark.parametrize("answer", [[], [{"id": 6}, None], [{"id": 6}, {"id": None}], "text", None])
def test_an_answer_without_the_field_does_not_hold_the_value(answer: Plain) -> None:
    source = Source(0, (1, "id"), inside=False)

    with pytest.raises(LookupError, match=r"nothing at|is not there"):
        source.read(answer, 7)


def test_what_the_user_said_need_not_be_read() -> None:
    call = Call("send_money", {"recipient": "UK123456"})

    assert sources(call, Call("read_file", {}), BILL, prompt="Pay 10 to UK123456.") == {}
    assert sources(call, Call("read_file", {}), BILL, prompt="Pay 10 to UK1234567.") != {}


def test_what_stands_nowhere_is_known_from_the_start() -> None:
    assert sources(Call("send_money", {"subject": "Refund", "amount": 4.0}), Call("read_file", {}), BILL) == {}


def test_the_answer_to_a_write_is_no_source_as_reading_it_again_would_repeat_the_write() -> None:
    sent: Plain = {"recipient": "UK123456"}

    assert sources(Call("send_money", {"recipient": "UK123456"}), Call("send_email", {}), sent) == {}


def test_the_latest_answer_is_preferred() -> None:
    calls = [
        Call("read_file", {"file_path": "a"}),
        Call("read_file", {"file_path": "b"}),
        Call("t", {"to": "UK123456"}),
    ]

    made = plan(calls, [BILL, BILL, None], prompt="", answer="")

    assert made.steps[2].sources["to"].step == 1
