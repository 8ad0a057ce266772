"""Rules for effects: one grammar for all files, and what is refused."""

from __future__ import annotations

import pytest

from chaosagent.effects.ledger import Ledger
from chaosagent.effects.rule import EffectOf, UnknownArgumentError, effect, effect_rule_from, effects_by
from chaosagent.errors import UsageError
from chaosagent.vocabulary import Effect, Impact


def book(_: object, answer: object) -> Effect:
    return Effect("booking", {"room": str(answer)})


def load(reference: str, _: str) -> object:
    return {"eff.py:book": book, "eff.py:seven": 7}[reference]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("order", EffectOf(("order",))),
        (["order", "amount"], EffectOf(("order", "amount"))),
        ({"identity": "order", "kind": "money", "impact": "harmless"}, EffectOf(("order",), Impact.HARMLESS, "money")),
        ({"identity": ["key"], "idempotent": True}, effect("key", idempotent=True)),
        ({"identity": ["key"], "when": "^ok"}, effect("key", when="^ok")),
        ({"function": "eff.py:book", "when": "^ok"}, effect(function=book, when="^ok")),
        (effect("order"), effect("order")),
    ],
)
def test_a_rule_is_read_from_every_form(given: object, expected: object) -> None:
    assert effect_rule_from(given, "here", load) == expected


def test_a_function_is_named_alone_or_handed_over() -> None:
    assert effect_rule_from("eff.py:book", "here", load) is book
    assert effect_rule_from(book, "here", load) is book


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["eff.py:book"], "'eff.py:book' looks like a function, and names of arguments are expected here"),
        ({"identity": "shop.eff:book"}, "identity: 'shop.eff:book' looks like a function"),
        ("eff.py:seven", "eff.py:seven is int, not a function"),
        (7, " is 7; it must be a list of arguments"),
        ([""], " is \\[''\\]; it must be a list of texts"),
        ({}, " is {}; it must be"),
        ({"identity": "a", "function": "eff.py:book"}, "it must be a list of arguments"),
        ({"function": "eff.py:book", "kind": "x"}, "the function says kind and impact"),
        ({"identity": "a", "idempotent": "yes"}, "idempotent is 'yes'; it must be true or false"),
        ({"identity": "a", "impact": "big"}, "impact is 'big'; it must be one of"),
        ({"identity": "a", "when": 7}, "when: 7 is no condition"),
    ],
)
def test_what_is_no_rule_is_refused_with_place_and_remedy(given: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"^here.*{message}"):
        effect_rule_from(given, "here", load)


def test_effect_refuses_functions_where_names_are_expected() -> None:
    with pytest.raises(UsageError, match=r"looks like a function.*hand over the function itself"):
        effect("eff.py:book")
    with pytest.raises(UsageError, match=r"is no name of an argument\. Give a function as it is"):
        effect(book)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(UsageError, match="leave out names and `kind`"):
        effect("order", function=book)


def test_a_condition_keeps_an_effect_from_being_committed() -> None:
    rule = effect("order", when={"json": "status", "is": "ok"})

    assert effects_by(rule, {"order": 7}, {"status": "ok"}, "pay") == (Effect("pay", {"order": 7}),)
    assert effects_by(rule, {"order": 7}, {"status": "dry run"}, "pay") == ()


def test_an_argument_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownArgumentError, match="ordr"):
        effects_by(effect("ordr"), {"order": 7}, None, "pay")
    assert effects_by(effect("note"), {}, None, "pay", optional=lambda: {"note"})[0].identity == {"note": None}


def test_the_ledger_counts_the_same_again_once_until_something_is_undone() -> None:
    ledger, write = Ledger(), (Effect("set", {"key": 1}),)
    undo = (Effect("undo", {"key": 1}, Impact.COMPENSATING),)

    assert ledger.new(write * 2, idempotent=True) == write
    assert ledger.new(write, idempotent=True) == ()
    assert ledger.new((Effect("set", {"key": 2}),), idempotent=True)
    assert ledger.new(write) == write
    assert ledger.new(undo) == undo
    assert ledger.new(write, idempotent=True) == write
