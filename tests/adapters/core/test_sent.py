"""What an injection has changed in arguments on their way."""

from __future__ import annotations

from typing import Any

from chaosagent.adapters.core.sent import SentArguments


def test_new_and_other_values_are_changes_and_equal_ones_are_none() -> None:
    sent = SentArguments({"order": "7", "amount": 40})

    assert sent.changed({"order": "7", "amount": 41, "note": ""}) == {"amount": 41, "note": ""}
    assert sent.is_left({"amount": 40, "order": "7"})


def test_what_lacks_something_or_is_no_mapping_is_not_left() -> None:
    sent = SentArguments({"order": "7"})

    assert not sent.is_left({})
    assert not sent.is_left(None)


def test_a_later_change_of_what_was_sent_is_a_change() -> None:
    messages: list[Any] = ["hello"]
    sent = SentArguments({"messages": messages})
    messages.append("more")

    assert sent.changed({"messages": messages}) == {"messages": ["hello", "more"]}
