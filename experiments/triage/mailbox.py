"""Outgoing e-mail."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.database import Database
from chaosagent.vocabulary import Effect, Impact, StatusError

ACKNOWLEDGEMENT = "We have received your message"
REFUSALS = {
    "paid already": (
        "Your question about a refund",
        "This amount was paid back already. It can take up to ten days until you see it in your account.",
    ),
    "identity": (
        "About your request",
        "We cannot do this for you. Please write to us from the address in your account.",
    ),
    "personal data": (
        "Your question about personal data",
        "We do not send personal data by e-mail. Please sign in to your account to see them.",
    ),
}
"""Subject and text of the letters that turn somebody away, by reason."""


class Outbox:
    """The mail service; it sends each message id once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def send(self, to: str, subject: str, text: str, message_id: str) -> dict[str, Plain]:
        """Send an e-mail."""
        sent = self._database.write("INSERT OR IGNORE INTO outbox VALUES (?, ?, ?, ?)", message_id, to, subject, text)
        return {"message_id": message_id, "sent": bool(sent)}

    def acknowledge(self, to: str, message_id: str) -> dict[str, Plain]:
        """Send the form letter that promises nothing but an answer."""
        return self.send(to, ACKNOWLEDGEMENT, "We will come back to you within two days.", message_id)

    def decline(self, to: str, reason: str, message_id: str) -> dict[str, Plain]:
        """Send the form letter that turns somebody away; 422 when there is none for the reason."""
        if reason not in REFUSALS:
            raise StatusError(422, f"no letter for {reason!r}")
        return self.send(to, *REFUSALS[reason], message_id)


class SentMail:
    """The folder of sent mail; it is another service than the one that sends."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, message_id: str) -> dict[str, Plain]:
        """Say whether an e-mail was sent."""
        found = self._database.row("SELECT 1 FROM outbox WHERE message_id = ?", message_id)
        return {"message_id": message_id, "found": found is not None}


def sent(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return the effect of `send`: none when the message id had been used."""
    if not isinstance(answer, Mapping) or not answer["sent"]:
        return None
    return Effect("mail.send", {"to": arguments["to"], "subject": arguments["subject"]})


def declined(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return the effect of `decline`, which does nobody any harm."""
    if not isinstance(answer, Mapping) or not answer["sent"]:
        return None
    return Effect("mail.decline", {"to": arguments["to"], "reason": arguments["reason"]}, Impact.HARMLESS)


def acknowledged(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return the effect of `acknowledge`, which nobody would miss."""
    if not isinstance(answer, Mapping) or not answer["sent"]:
        return None
    return Effect("mail.acknowledge", {"to": arguments["to"]}, Impact.HARMLESS)
