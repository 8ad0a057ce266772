"""Where the sentences of a text are, and that changes to it stay within their tokens."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.operator import Domain, Levels, Operator, ParameterValue
from chaosagent.operators.edits import Edit, edited, instructions, items, sentences
from chaosagent.operators.prompt.ambiguity import Ambiguity
from chaosagent.operators.prompt.dropout import Dropout
from chaosagent.operators.prompt.noise import Noise
from chaosagent.operators.prompt.paraphrase import Paraphrase
from chaosagent.operators.prompt.reorder import Reorder
from chaosagent.operators.prompt.synonym import Synonym
from chaosagent.operators.prompt.truncation import Truncation
from chaosagent.operators.texts import TOKEN_CHARACTERS
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

MAIL = """Hello. Refund order A-1006 before 2026-03-05. It costs 59.90 EUR.
If it was delivered, ask first! Is that clear?
1. Check the invoice. Then pay.
2) The amount must be at most 5.50.
  - ticket T-1 is closed
Bye"""

PIECES = (*MAIL.split(), "\n-", "customer", "do not", "If it is late, ask me.", "10 EUR", "within 3 days", "Never!")
CHANGERS = (Ambiguity, Dropout, Noise, Paraphrase, Reorder, Synonym, Truncation)

TEXTS = st.text(st.characters(codec=None), max_size=80) | st.text(st.sampled_from("aA.!? \n-1)"), max_size=80)


@st.composite
def texts_and_edits(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(TEXTS)
    places = st.integers(0, len(text))
    edits = draw(st.lists(st.tuples(places, places, st.text("xyz", max_size=9)), max_size=6))
    return text, [Edit(min(one, other), max(one, other), new) for one, other, new in edits]


def test_sentences_end_at_full_stops_and_lines_and_begin_behind_markers() -> None:
    assert [span.of(MAIL) for span in sentences(MAIL)] == [
        "Hello.",
        "Refund order A-1006 before 2026-03-05.",
        "It costs 59.90 EUR.",
        "If it was delivered, ask first!",
        "Is that clear?",
        "Check the invoice.",
        "Then pay.",
        "The amount must be at most 5.50.",
        "ticket T-1 is closed",
        "Bye",
    ]


def test_instructions_are_the_sentences_that_say_what_to_do_or_what_must_hold() -> None:
    assert [span.of(MAIL) for span in instructions(MAIL)] == [
        "Refund order A-1006 before 2026-03-05.",
        "If it was delivered, ask first!",
        "Check the invoice.",
        "The amount must be at most 5.50.",
    ]


def test_items_are_whole_lines_behind_markers() -> None:
    found = ["Check the invoice. Then pay.", "The amount must be at most 5.50.", "ticket T-1 is closed"]

    assert [span.of(MAIL) for span in items(MAIL)] == found


@given(TEXTS)
def test_sentences_and_items_follow_each_other_and_are_not_empty(text: str) -> None:
    for spans in (sentences(text), items(text)):
        places = [place for span in spans for place in span]

        assert places == sorted(places)
        assert all(span.of(text).strip() for span in spans)


@given(texts_and_edits(), st.integers(1, 20))
def test_changes_stay_within_their_tokens(case: tuple[str, list[Edit]], tokens_max: int) -> None:
    text, edits = case

    assert distance(text, edited(text, edits, tokens_max)) <= TOKEN_CHARACTERS * tokens_max


@given(texts_and_edits())
@example(("once", [Edit(0, 4, "once"), Edit(0, 1, "")]))  # what changes nothing is not made, and bars no other
def test_the_first_change_is_made_whatever_the_others_want(case: tuple[str, list[Edit]]) -> None:
    text, edits = case

    for edit in edits[:1]:
        changed = edited(text, edits, 1_000)
        alone = text[: edit.start] + edit.text + text[edit.stop :]
        assert edited(text, [edit], edit.tokens) == alone
        assert alone == text or edit.text in changed


def test_a_change_that_is_too_large_makes_room_for_a_smaller_one() -> None:
    assert edited("one two", [Edit(0, 3, "x" * 5), Edit(4, 7, "2")], 1) == "one 2"


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGERS, ids=lambda kind: kind.name)
@given(data=st.data())
def test_no_operator_changes_more_tokens_of_a_text_than_it_says(kind: type[Operator], data: st.DataObject) -> None:
    text = data.draw(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join) | TEXTS)
    operator = kind(**{name: data.draw(_values(domain)) for name, domain in kind.parameters.items()})

    crossing = FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(text)), data.draw(st.integers(0, 9)))
    changed = play(operator, crossing).value

    assert isinstance(changed, str)
    assert distance(text, changed) <= TOKEN_CHARACTERS * operator.tokens


def _values(domain: Domain) -> st.SearchStrategy[ParameterValue]:
    if isinstance(domain, Levels) and isinstance(domain.levels[0], int):
        return st.integers(1, 20)
    return st.sampled_from(domain.levels)


def distance(one: str, other: str) -> int:
    """Return the least number of characters to add, remove or change that make one text of another."""
    row = list(range(len(other) + 1))
    for i, here in enumerate(one, 1):
        corner, row[0] = row[0], i
        for j, there in enumerate(other, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (here != there))
    return row[-1]
