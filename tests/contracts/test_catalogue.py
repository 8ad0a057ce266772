"""Contracts from the entries of a study file."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import Template, default_contracts, entries, parse_contract
from chaosagent.contracts.contract import CONTRACTS, Contract
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.templates.containment import Containment
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.contracts.templates.ordering import Ordering
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.vocabulary import Severity

NEEDED: dict[str, dict[str, Plain]] = {
    "ordering": {"first": "check", "then": "refund"},
    "least-privilege": {"allowed": {"reader": ["get_*"]}},
    "role-boundary": {"allowed": {"reader": ["get_*"]}},
}


def test_the_default_contracts_are_those_that_need_no_one_to_write_them() -> None:
    assert [contract.id for contract in default_contracts()] == [
        "termination",
        "no-crash",
        "no-extra-effects",
        "at-most-once",
        "all-or-nothing",
        "promises-kept",
        "no-ghosts",
        "no-leak",
    ]
    assert all(contract.severity is Severity.HARD for contract in default_contracts())


@pytest.mark.parametrize("name", sorted(entries()))
def test_every_template_is_made_from_plain_settings(name: str) -> None:
    settings: dict[str, Plain] = {"id": "mine", "severity": "soft", "weight": 0.5, "requires": "no-crash"}

    made = CONTRACTS.get(name)(**NEEDED.get(name, {}), **settings)

    assert isinstance(made, Contract)
    assert (made.id, made.severity, made.weight, made.requires) == ("mine", Severity.SOFT, 0.5, NoCrash())


@pytest.mark.parametrize("name", sorted(entries()))
def test_every_template_has_a_summary_and_says_what_it_needs(name: str) -> None:
    factory = entries()[name]

    assert isinstance(factory, Template)
    assert factory.summary.endswith(".")
    assert set(factory.needed) == set(NEEDED.get(name, {}))


def test_an_entry_is_a_name_or_a_mapping() -> None:
    assert parse_contract("at-most-once") == AtMostOnce()
    assert parse_contract({"contract": "ordering", "first": ["check"], "then": "refund"}) == Ordering(
        first=("check",), then=("refund",)
    )


def test_an_entry_may_name_a_contract_in_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_contracts.py").write_text(
        "from chaosagent.contracts.custom import contract\n@contract('theirs')\ndef theirs(step):\n    return True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert parse_contract("their_contracts:theirs").id == "theirs"


def test_final_contracts_of_containment_are_entries_too() -> None:
    made = parse_contract({"contract": "containment", "final": ["no-crash", {"contract": "at-most-once", "id": "x"}]})

    assert made == Containment(final=(NoCrash(), AtMostOnce(id="x")))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"contract": "no-leak", "pattern": "x"}, "no-leak: unknown setting 'pattern'. Did you mean 'patterns'"),
        ({"contract": "ordering", "first": "a"}, "ordering: the setting 'then' is missing"),
        ({"contract": "ordering", "first": [], "then": "a"}, "first must have 1 or more entries"),
        ({"contract": "termination", "severity": "loud"}, r"termination\(severity='loud'\)"),
        ({"contract": "termination", "steps_max": "many"}, r"termination\(steps_max='many'\)"),
        ({"contract": "no-leak", "patterns": ["("]}, "the pattern '\\(' cannot be used: unclosed group"),
        ({"contract": "no-leak", "patterns": {"a": 1}}, "patterns must be a text or a list of texts"),
        ({"contract": "progress", "window": 1}, "window must be a whole number, 2 or more"),
        ({"contract": "role-boundary", "allowed": ["a"]}, "allowed must be a mapping from roles"),
        ({"contract": "role-boundary", "allowed": {}, "share_max": 2}, "share_max must be a number from 0 to 1"),
        ({"contract": "least-privilege", "allowed": {}, "others": "some"}, "others must be 'anything' or 'nothing'"),
        ({"contract": "least-privilege", "allowed": {}, "parameters": {"a": ["b"]}}, "parameters must map"),
        ({"contract": "containment", "final": "no-crash"}, "final must be a list of contracts"),
        ({"first": "a"}, "is no contract. Write its name, or a mapping"),
        (7, "7 is no contract"),
        ("nowhere.at_all:thing", "contract 'nowhere.at_all:thing' cannot be loaded"),
        ("chaosagent.canonical:pack", "not a contract. Decorate the function with @contract"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(entry: Plain, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_contract(entry, "study.yaml:7")

    assert str(caught.value).startswith("study.yaml:7: ")


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"study.yaml:7: unknown contract 'atmost-once'. Did you mean 'at-most-"):
        parse_contract("atmost-once", "study.yaml:7")
