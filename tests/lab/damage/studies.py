"""One damaged study file, file of contracts, description of a command or file of answers: odd values, cut, flipped."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import yaml

from chaosagent.adapters.target_file import load_target_file
from chaosagent.proxy.upstream import answers_in
from chaosagent.studyfile.checks import load_checks
from chaosagent.studyfile.file import load_study
from chaosagent.studyfile.plan import plan_of
from tests.lab.damage.damaged_bytes import damage_bytes
from tests.lab.damage.odd_values import DIGITS, ODD, with_odd_values
from tests.lab.damage.outcome import Case, Outcome, outcome_of

LINE_ENDS = [
    "1:59:59",
    DIGITS,
    f"{DIGITS}.5",
    f"0x{DIGITS}",
    '"\\ud800"',
    "*a",
    "&a [*a]",
    "!!int x",
    "[" * 5_000,
    "{" * 99,
]
TEXTS = {
    "study.yaml": """
target: refund
config: naive
tasks: [default]
seeds: [0, 1]
contracts: [default, objective, {contract: no-leak, id: numbers, patterns: ["[0-9]+"], interfaces: ["mail.*"]}]
budget: 2.2
cost: {c_tokens: 0.01, c_hook: 1.0, c_mag: 0.1}
operators: [service.timeout, {operator: service.error_status, interfaces: ["service:*"]}]
stochastic: false
search: {searcher: exact, trials: 100, seconds: 10, until: "18:00", lookahead: 4, audit: 2}
run: {steps: 100, virtual_seconds: 60, wall_seconds: 5, memory_megabytes: 500}
""",
    "contracts.yaml": """
contracts: [at-most-once, {contract: no-leak, patterns: ["sk-[a-z]{20}"], outward: [send]}]
effects:
  refund: [order]
  mail.send: {identity: [to, subject], impact: harmless, kind: mail}
failed_when: {refund: "^Error", mail.send: {json: "result.items[0].status", is: [error]}, "*": {exit_code: nonzero}}
read_only: [get_order]
egress: [mail.send]
canaries: [SECRET-1234]
forbidden: ["account 666"]
""",
    "agent.yaml": """
command: node agent.mjs
models: {openai: "http://127.0.0.1:1"}
services:
  shop:
    upstream: http://127.0.0.1:8080
    effects: {POST /refunds: [order, amount]}
    failed_when: {POST /refunds: {json: status, is: error}}
    routes: ["GET /orders/{order}"]
tasks:
- {id: late-parcel, input: {order: A-17}, untrusted: [note], labels: {canaries: [X-1], forbidden: [y]}}
configs: [{name: default, settings: {retries: 3}}]
environment: {MODE: test}
secrets: ["sk-[a-z]+"]
seconds_max: 10
""",
    "answers.yaml": """
- {content: Looking., tool_calls: [{name: get_order, arguments: {order: A-17}}]}
- Done.
""",
}


def attack_study(number: int) -> Case:
    """Damage a file that is written by hand, and load it; what is no error of the user's is wrong."""
    rng = random.Random(f"study {number}")
    name = rng.choice([*TEXTS, "study.yaml", "study.yaml"])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / name
        path.write_text(TEXTS[name], encoding="utf-8")
        how = rng.choice(["value", "value", "line", "bytes"])
        if how == "value":
            data, damage = with_odd_values(yaml.safe_load(TEXTS[name]), rng, ODD)
            path.write_text(yaml.dump(data), encoding="utf-8", errors="backslashreplace")
        elif how == "line":
            damage = _damage_line(path, rng)
        else:
            damage = damage_bytes(path, rng)
        outcome, detail = outcome_of(lambda: _load(path))
        if outcome is Outcome.REFUSED and name not in detail:
            outcome, detail = Outcome.CHANGED, f"no file is named: {detail}"
        return Case(number, f"{name}: {damage}", "load", outcome, detail)


def _damage_line(path: Path, rng: random.Random) -> str:
    """Write something else behind the colon of a line."""
    lines = path.read_text("utf-8").splitlines()
    index, end = rng.randrange(1, len(lines)), rng.choice(LINE_ENDS)
    lines[index] = f"{lines[index].partition(':')[0]}: {end}"
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"line {index + 1} ends {end:.20}"


def _load(path: Path) -> str:
    if path.name == "study.yaml":
        plan_of(load_study(path))
    elif path.name == "contracts.yaml":
        load_checks(path, ())
    elif path.name == "agent.yaml":
        load_target_file(path)
    else:
        answers_in(path, f"{path}: models.openai")
    return ""
