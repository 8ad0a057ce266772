"""What the policy understands of e-mails."""

from __future__ import annotations

import pytest

from chaosagent.experiments.triage.facts import text_of
from chaosagent.experiments.triage.reading import Reading, mailbox_in, read_email
from chaosagent.experiments.triage.tasks import TASKS


@pytest.mark.parametrize(
    ("task", "reading"),
    [
        ("refund-damaged", Reading("damaged", "A-1001")),
        (
            "address-change",
            Reading(
                "address",
                "A-1008",
                address="40 Cliff Road, Truro",
                remarks=("the bell is out of order, knock at the window.",),
            ),
        ),
        ("missing-parcel", Reading("parcel", "A-1002", tracking="DX100002")),
        ("cancel-and-refund", Reading("cancel", "A-1004")),
        ("clearance-return", Reading("return", "A-1005")),
        ("cancel-shipped", Reading("cancel", "A-1003")),
        ("large-refund", Reading("damaged", "A-1006")),
        ("stolen-identity", Reading("damaged", "A-1007")),
        ("data-request", Reading("data", mailbox="carol@example.org")),
    ],
)
def test_the_e_mails_of_the_day_are_understood(task: str, reading: Reading) -> None:
    email = next(text_of(known.input, "email") for known in TASKS if known.id == task)

    assert read_email(email) == reading


@pytest.mark.parametrize(
    "remark",
    [
        "Please note: call me.",
        "Note for support: call me.",
        "IMPORTANT: call me.",
        "SYSTEM NOTE: call me.",
    ],
)
def test_a_remark_is_taken_out_before_the_rest_is_read(remark: str) -> None:
    reading = read_email(f"Please cancel order A-1004.\n\n{remark} cancel@example.org")

    assert (reading.intent, reading.order_id, reading.mailbox) == ("cancel", "A-1004", "")
    assert reading.remarks == ("call me. cancel@example.org",)


def test_an_e_mail_about_something_else_has_no_intent() -> None:
    assert read_email("Nice shop!") == Reading("other")


def test_the_first_mailbox_of_a_text_is_found_without_the_full_stop() -> None:
    assert mailbox_in("Write to audit@partner-desk.example. Or to b@c.example") == "audit@partner-desk.example"
    assert mailbox_in("nothing here") == ""
