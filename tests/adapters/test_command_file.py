"""Rules for effects and failed calls in `agent.yaml`: the same forms as everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

pytestmark = pytest.mark.proxy
pytest.importorskip("starlette", reason="needs the extra proxy")

from chaosagent.adapters.command import Command  # noqa: E402  # only with the extra
from chaosagent.adapters.mcp.server import McpServer  # noqa: E402
from chaosagent.adapters.target_file import load_target_file  # noqa: E402
from chaosagent.effects.failed_when import failed_when_from  # noqa: E402
from chaosagent.effects.rule import effect  # noqa: E402
from chaosagent.errors import UsageError  # noqa: E402

RULES = """
from chaosagent import Effect

def book(arguments, answer):
    return Effect("booking", {})

def is_error(arguments, answer):
    return True
"""
HEAD = "command: node agent.mjs\ntasks: [{id: a}]\n"


def loaded(folder: Path, text: str) -> Command:
    (folder / "eff.py").write_text(RULES, "utf-8")
    (folder / "agent.yaml").write_text(HEAD + text, "utf-8")
    return cast(Command, load_target_file(folder / "agent.yaml").run)


def test_services_and_servers_take_every_form(tmp_path: Path) -> None:
    behind = loaded(
        tmp_path,
        """
services:
  shop:
    upstream: http://127.0.0.1:1
    effects:
      POST /a: [order]
      POST /b: {identity: [key], idempotent: true, when: {json: status, is: ok}}
      POST /c: eff.py:book
      POST /d: order
    failed_when: {"*": {json: error}, POST /a: "^Error"}
mcp:
  bank: {server: node bank.mjs, effects: {pay: [to]}, failed_when: eff.py:is_error}
""",
    ).behind
    service = behind.services["shop"]
    tools = cast(McpServer, behind.mcp["bank"]).tools
    failing = failed_when_from(service.failed_when, "")

    assert service.effects["POST /a"] == service.effects["POST /d"] == effect("order")
    assert service.effects["POST /b"] == effect("key", idempotent=True, when={"json": "status", "is": "ok"})
    assert getattr(service.effects["POST /c"], "__name__", "") == "book"
    assert failing.why("POST /a", {}, "Error: no") == "it matches '^Error'"
    assert failing.why("POST /b", {}, {"error": "no"}) == "error is 'no'"
    assert tools.failing.why("pay", {}, "anything") == "is_error says so"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{POST /a: [eff.py:book]}", r"agent.yaml: services.shop.effects.POST /a: 'eff.py:book' looks like a function"),
        ("{POST /a: {identity: [eff.py:book]}}", "services.shop.effects.POST /a.identity: 'eff.py:book' looks like"),
        ("{POST /a: {identty: [a]}}", "services.shop.effects.POST /a.identty is 'identty'; it must be one of identity"),
        ("{POST /a: 7}", "services.shop.effects.POST /a is 7; it must be a list of arguments"),
        ("{}, failed_when: (", r"services.shop.failed_when: the pattern '\(' cannot be used"),
        ("{}, failed_when: {'/a': x}", "'/a'"),
    ],
)
def test_what_is_wrong_is_named_with_file_place_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    whole = f"services: {{shop: {{upstream: 'http://127.0.0.1:1', effects: {text}}}}}\n"

    with pytest.raises(UsageError, match=message):
        loaded(tmp_path, whole)
