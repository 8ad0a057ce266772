"""Digests of declarations are equal for equal meanings, on every version of Python, and for no others."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.custom import FunctionContract
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.temporal import never
from chaosagent.effects.rule import effect
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.replays.declarations import UNREADABLE, contract_text, declarations_of
from chaosagent.vocabulary import Impact

SOURCE = '''
import functools
from chaosagent import Effect, contract
from chaosagent.contracts.contract import HOLDS, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.vocabulary import Severity


@contract("by-day", severity="soft")
def by_day(step) -> bool:
    """Say no at night."""
    hour = step.asked_at % 86_400 // 3_600  # of the day
    return hour >= 6 or step.operation not in {"pay", "refund"}


@contract("with-text")
def with_text(step):
    if step.operation == "pay" and (amount := step.arguments.get("amount")):
        return f"paid {amount!r:>{10}} " f"at {step.asked_at:.1f}{{}}" "!" if amount > 1_00 else None
    match step.arguments:
        case {"to": str(name), **rest} if name:
            return [*rest] == []
    try:
        return all(x is not None for x in step.effects) and (lambda y: y)(True)
    except* ValueError as error:
        raise RuntimeError("never") from error


class Own:
    """A contract of one's own."""

    id, severity, weight, requires = "own", Severity.HARD, 1.0, None

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def monitor(self, setting):
        return AtEnd(lambda end: HOLDS if end.step_count < self._limit else violated("too long"))


own = Own(3)
effects = {
    "pay": lambda arguments, answer: Effect("pay", {"order": arguments["order"]}), "hold": lambda a, b: None,
    "refund": functools.partial(lambda kind, arguments, answer: Effect(kind, arguments), "refund"),
}
'''
EXPECTED = {
    "contract by-day": "850958f96bcdedf681f928b536b3c7f7",
    "contract own": "5c19fbb0ffa5ed2a3d12e0f6f6507c09",
    "contract with-text": "c9e37a2738737b713b4a45ce9b51fca8",
    "effects of service:bank, hold": "093fd4a7dc49170cad17f6f5fc56aec1",
    "effects of service:bank, pay": "eff619600a1f4f6341a00bf751383b84",
    "effects of service:bank, refund": "5c38c47a0bafef5ec6a22d19c236a7e0",
}
PROGRAM = """
import importlib.util, json, sys
from chaosagent.contracts.catalogue import default_contracts, entries
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.replays.declarations import declarations_of
from chaosagent.effects.rule import effect

spec = importlib.util.spec_from_file_location("rules", sys.argv[1])
rules = importlib.util.module_from_spec(spec)
sys.modules["rules"] = rules
spec.loader.exec_module(rules)
doors = {"service:bank": DoorOptions(effects={**rules.effects, "void": effect("order")})}
print(json.dumps(declarations_of([*default_contracts(), rules.by_day, rules.with_text, rules.own], doors)))
"""


def loaded(folder: Path, source: str) -> ModuleType:
    path = folder / f"rules_{len(list(folder.iterdir()))}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def digests(module: ModuleType) -> dict[str, str]:
    doors = {"service:bank": DoorOptions(effects=module.effects)}
    return dict(declarations_of([module.by_day, module.with_text, module.own], doors))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('    """Say no at night."""\n', "    # at night no\n\n"),
        ("# of the day", ""),
        ("(step) -> bool:", "(step):"),
        ("86_400", "86400"),
        ('" f"at', "at"),
        ('not in {"pay", "refund"}', 'not in {\n        "pay",\n        "refund",\n    }'),
        ('severity="soft")', "severity=Severity.SOFT)"),
        ('    """A contract of one\'s own."""\n\n', ""),
    ],
)
def test_layout_comments_and_annotations_change_nothing(tmp_path: Path, before: str, after: str) -> None:
    assert before in SOURCE

    assert digests(loaded(tmp_path, SOURCE)) == digests(loaded(tmp_path, SOURCE.replace(before, after)))


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("hour >= 6", "hour >= 5", "contract by-day"),
        ('severity="soft"', 'severity="hard"', "contract by-day"),
        ('"pay", "refund"}', '"pay", "rebate"}', "contract by-day"),
        ("1_00", "1_01", "contract with-text"),
        (":.1f", ":.2f", "contract with-text"),
        ("[*rest] == []", "[*rest] != []", "contract with-text"),
        ("Own(3)", "Own(4)", "contract own"),
        ("end.step_count < self", "end.step_count <= self", "contract own"),
        ('{"order": arguments["order"]}', '{"order": 1}', "effects of service:bank, pay"),
        ("lambda a, b: None", "lambda a, b: ()", "effects of service:bank, hold"),
        ('arguments), "refund")', 'arguments), "rebate")', "effects of service:bank, refund"),
    ],
)
def test_another_meaning_is_another_digest(tmp_path: Path, before: str, after: str, name: str) -> None:
    assert before in SOURCE
    known, now = digests(loaded(tmp_path, SOURCE)), digests(loaded(tmp_path, SOURCE.replace(before, after)))

    assert [one for one in known if known[one] != now[one]] == [name]


def test_digests_are_what_they_are_on_every_version_of_python(tmp_path: Path) -> None:
    """Compare with what one version gave; a change here makes every record that has such declarations CHANGED."""
    assert digests(loaded(tmp_path, SOURCE)) == EXPECTED


def test_a_built_in_is_its_name_its_settings_and_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [contract_text(one).digest for one in default_contracts()]
    known = contract_text(AtMostOnce())

    assert len(set(names)) == len(names)
    assert contract_text(parse_contract("at-most-once")) == known
    assert contract_text(AtMostOnce(requires=AtMostOnce(id="other"))).digest != known.digest
    monkeypatch.setattr(AtMostOnce, "semantics", 2)
    assert contract_text(AtMostOnce()).digest != known.digest


def test_patterns_are_equal_whatever_they_have_learned() -> None:
    used, fresh = (never("payments.refund", id="x") for _ in range(2))

    assert contract_text(used) == contract_text(fresh)
    assert contract_text(used) != contract_text(never("payments.*", id="x"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (effect("order"), effect("order_id"), True),  # a replay compares the values
        (effect("order"), effect("order", kind="bank.pay"), True),
        (effect("order"), effect("order", "amount"), False),
        (effect("order"), effect("order", kind="pay"), False),
        (effect("order"), effect("order", impact=Impact.HARMLESS), False),
    ],
)
def test_an_effect_is_its_kind_its_impact_and_how_much_identifies_it(one: Any, other: Any, *, same: bool) -> None:
    found = [declarations_of([], {"service:bank": DoorOptions(effects={"pay": rule})}) for rule in (one, other)]

    assert (found[0] == found[1]) is same


def test_what_has_no_source_is_unreadable() -> None:
    space: dict[str, Callable[..., bool]] = {}
    exec("def check(step): return True", space)

    assert contract_text(FunctionContract(id="x", function=space["check"])).digest == UNREADABLE


def test_a_wrapped_function_counts_too() -> None:
    def wrapping(function: Callable[[object], bool]) -> Callable[[object], bool]:
        @functools.wraps(function)
        def wrapped(step: object) -> bool:
            return function(step)

        return wrapped

    contracts = [
        FunctionContract(id="x", function=wrapping(lambda step: step is None)),
        FunctionContract(id="x", function=wrapping(lambda step: step is not None)),
    ]

    assert len({contract_text(one).digest for one in contracts}) == 2


@pytest.mark.slow
def test_digests_are_equal_on_every_version_of_python(tmp_path: Path) -> None:
    """Take other interpreters, with the dependencies of the core, from `CHAOSAGENT_PYTHONS`, separated by colons."""
    rules = tmp_path / "rules.py"
    rules.write_text(SOURCE, encoding="utf-8")
    others = [path for path in os.environ.get("CHAOSAGENT_PYTHONS", "").split(os.pathsep) if path]
    root = str(Path(__file__).parents[2])
    found = {}
    for python in (sys.executable, *others):
        ran = subprocess.run(
            [python, "-c", PROGRAM, str(rules)],
            env={**os.environ, "PYTHONPATH": root},
            capture_output=True,
            check=True,
            text=True,
        )
        found[python] = json.loads(ran.stdout)

    first = found[sys.executable]
    assert all(digest for _, digest in first)
    assert all(one == first for one in found.values())
