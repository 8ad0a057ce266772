"""Outgoing e-mail: each message id once, and what counts as an effect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaosagent.experiments.triage.database import Database
from chaosagent.experiments.triage.mailbox import Outbox, SentMail, acknowledged, declined, sent
from chaosagent.vocabulary import Effect, Impact, StatusError


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database()
    yield opened
    opened.close()


def test_a_message_id_is_sent_once(database: Database) -> None:
    outbox = Outbox(database)
    arguments = {"to": "anna@example.org", "subject": "Hello"}

    answers = [outbox.send("anna@example.org", "Hello", "Hello Anna", "T-201/1") for _ in range(2)]

    assert [sent(arguments, answer) for answer in answers] == [Effect("mail.send", arguments), None]
    assert database.rows("SELECT recipient, subject, text FROM outbox") == [("anna@example.org", "Hello", "Hello Anna")]


def test_form_letters_are_harmless(database: Database) -> None:
    outbox = Outbox(database)

    receipt = acknowledged({"to": "a@example.org"}, outbox.acknowledge("a@example.org", "T-201/1"))
    refusal = declined(
        {"to": "a@example.org", "reason": "identity"}, outbox.decline("a@example.org", "identity", "T-201/2")
    )
    again = declined({}, outbox.decline("a@example.org", "identity", "T-201/2"))

    assert receipt == Effect("mail.acknowledge", {"to": "a@example.org"}, Impact.HARMLESS)
    assert refusal == Effect("mail.decline", {"to": "a@example.org", "reason": "identity"}, Impact.HARMLESS)
    assert again is None


def test_there_is_no_letter_for_a_reason_that_nobody_wrote_one_for(database: Database) -> None:
    with pytest.raises(StatusError, match="422 no letter for 'weather'"):
        Outbox(database).decline("a@example.org", "weather", "T-201/1")


def test_the_folder_of_sent_mail_knows_what_left(database: Database) -> None:
    Outbox(database).acknowledge("a@example.org", "T-201/1")

    found = [SentMail(database).find(message_id)["found"] for message_id in ("T-201/1", "T-201/2")]

    assert found == [True, False]
