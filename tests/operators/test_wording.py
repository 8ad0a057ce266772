"""Other words that mean the same: which words are replaced, and which are left alone."""

from __future__ import annotations

import pytest

from chaosagent.operators.edits import edited
from chaosagent.operators.lexicon import lexicon
from chaosagent.operators.wording import moved_clauses, phrases_in, synonyms_in


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Send it to the customer.", "Transmit it to the client."),
        ("Please check the INVOICE", "Please examine the BILL"),
        ("Order it. The order is late.", "Purchase it. The purchase is late."),
        ("We must refund a customer.", "We must reimburse a client."),
        ("They pay an invoice with an error.", "They pay a bill with a fault."),
        ("A request came.", "A demand came."),
        ("It was removed and replaced.", "It was eliminated and exchanged."),
    ],
)
def test_a_word_is_replaced_as_what_it_is(text: str, other: str) -> None:
    assert edited(text, synonyms_in(text), 100) == other


@pytest.mark.parametrize(
    "text",
    [
        "full order history",
        "order_id and pre-order and order@example.org",
        "https://order.example/order/7 and order.pdf",
        "the field \"order\" and the value 'order'",
        "Limit it. The send was slow.",
        "",
        "\ud800 order \x00",
    ],
)
def test_a_word_whose_part_is_not_clear_or_that_belongs_to_a_name_is_left_alone(text: str) -> None:
    assert edited(text, synonyms_in(text), 100) == text


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("You must not do it.", "You may not do it."),
        ("Do not wait.", "Don't wait."),
        ("Never do it.", "Under no circumstances do it."),
        ("AT MOST 5", "NO MORE THAN 5"),
        ("Whatever", "Whatever"),
    ],
)
def test_the_longest_phrase_is_replaced(text: str, other: str) -> None:
    assert edited(text, phrases_in(text), 100) == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Hi. If it is late, then ask me! Bye.", "Hi. Ask me if it is late! Bye."),
        ("- As soon as it is paid, send it", "- Send it as soon as it is paid"),
        ("If it is late, ask me, or wait.", "If it is late, ask me, or wait."),
    ],
)
def test_a_first_clause_comes_last(text: str, other: str) -> None:
    assert edited(text, moved_clauses(text), 100) == other


def test_nothing_in_the_lexicon_stands_for_itself_and_every_word_is_found() -> None:
    words = [(word, other) for word, kinds in lexicon().synonyms.items() for other in kinds.values()]

    assert len(words) > 400
    assert all(word.isalpha() and word.islower() and word != other for word, other in words)
    assert all(phrase != other for phrase, other in lexicon().phrases.items())
    assert {"refund", "order", "ask"} <= lexicon().verbs
    assert "amount" not in lexicon().verbs
