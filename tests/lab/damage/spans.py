"""One damaged file of spans or recorded conversations, checked as `chaosagent check` does it."""

from __future__ import annotations

import functools
import json
import random
import tempfile
from pathlib import Path

from chaosagent.api.check_traces import CheckKeys, check
from chaosagent.experiments.recorded_conversations import conversations
from chaosagent.replays.store import read_record
from chaosagent.trace.spans import export_line
from tests.lab.damage.damaged_bytes import damage_bytes
from tests.lab.damage.odd_values import DIGITS, ODD, with_odd_values
from tests.lab.damage.outcome import Case, outcome_of
from tests.lab.damage.records import STORED

CHECKS: CheckKeys = {
    "contracts": ["default", {"contract": "no-leak", "id": "patterns", "patterns": ["(a+)+$"], "interfaces": ["*"]}],
    "effects": {"refund": ["order"]},
    "failed_when": "(a|a)*b$",
    "egress": ["refund"],
}
NUMBER = "1234567890123"
JSON_ODD = [value for value in ODD if not isinstance(value, bytes)]
ODD_TEXTS = [DIGITS, "1e999", "-0", "NaN", '"\\ud800"', '{"a":' * 2_000, "[" * 100_000, f'"[{DIGITS}]"', '"\\u0000"']


@functools.cache
def _lines() -> list[str]:
    """Return lines of sound files: a run that was exported, and conversations."""
    told = [json.dumps({"messages": messages}) for messages, _ in conversations(count=5)]
    return [export_line(read_record(STORED).trace, "refund"), *told]


def attack_spans(number: int) -> Case:
    """Damage a file of spans, and check it with and without what is broken."""
    rng = random.Random(f"spans {number}")
    lines = rng.sample(_lines(), 3)
    how = rng.choice(["values", "text", "bytes"])
    at = rng.randrange(len(lines))
    damage = how
    if how == "values":
        data, damage = with_odd_values(json.loads(lines[at]), rng, JSON_ODD)
        lines[at] = json.dumps(data)
    elif how == "text":
        data, where = with_odd_values(json.loads(lines[at]), rng, [NUMBER])
        odd = rng.choice(ODD_TEXTS)
        lines[at] = json.dumps(data).replace(f'"{NUMBER}"', odd)
        damage = f"{where} is {odd:.20}"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "spans.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        if how == "bytes":
            damage = damage_bytes(path, rng)
        skip = rng.random() < 0.5
        outcome, detail = outcome_of(lambda: _check(path, skip_broken=skip))
        return Case(number, damage, "check, broken ones skipped" if skip else "check", outcome, detail)


def _check(path: Path, *, skip_broken: bool) -> str:
    result = check(path, CHECKS, skip_broken=skip_broken)
    return "" if str(result) else "it says nothing"
