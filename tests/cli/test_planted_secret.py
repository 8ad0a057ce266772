"""A secret that is planted in a run is in nothing that is printed or written of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaosagent.cli.main import main

PLUGIN = ("-p", "no:asyncio", "-p", "no:chaosagent", "-p", "chaosagent.pytest_plugin.plugin")
CANARY, LINE = "sk-canary-7f3a9b", "canary/second+line"
AGENT = f'''
import json
import logging
import re
import sys

import yaml

import chaosagent

PEM = "-----BEGIN KEY-----\\nfirst/line\\n{LINE}\\n-----END KEY-----"
FILES = {{
    "json": json.dumps({{"private_key": PEM}}),
    "json twice": json.dumps([json.dumps(PEM)]),
    "repr": repr((PEM,)),
    "yaml": yaml.safe_dump({{"private_key": PEM}}),
    "block": "private_key: |\\n  " + PEM.replace("\\n", "\\n  "),
}}

@chaosagent.target(
    tasks=[chaosagent.Task("pay", {{"account": ("{CANARY}", 1)}}, labels=chaosagent.Labels(canaries=("{CANARY}0",)))],
    configs=[chaosagent.SystemConfig("night", {{"token": "{CANARY}"}})],
    secrets=[r"sk-canary-[0-9a-f]+", re.escape(PEM)],
)
async def agent(task, run):
    print("paying with", task.input, file=sys.stderr)
    print(run.config.settings["token"])
    print("key", PEM)
    print(*FILES.values())
    logging.getLogger("agent").error("token %s and key %s, or %r", task.input["account"][0], PEM, PEM)
    read = lambda name: {{"key": "{CANARY}", "files": FILES, "pem": PEM}}
    vault = run.service("vault", {{"read": read}}, read_only=True)
    bank = run.service(
        "bank", {{"pay": lambda order, key, account: {{"used": key}}}}, effects={{"pay": chaosagent.effect("order")}}
    )
    key = (await vault("read", name="bank"))["key"]
    if not isinstance(key, str):
        raise ValueError(f"no key, but {CANARY} was expected")
    for _ in range(2):
        try:
            await bank("pay", order=f"with {{key}}", key=key, account=task.input["account"][0])
            break
        except TimeoutError:
            await run.clock.sleep(1)
    return chaosagent.Outcome(f"Paid with {{key}}.", success=True, state={{"key": key, "files": FILES}})
'''
FIX = "break\n        except TimeoutError:\n", "break\n        except TimeoutError:\n            break\n"
STUDY = """
target: agent.py:agent
contracts: [default]
budget: 1.2
operators: [service.timeout, service.field_corruption, service.error_status]
"""


def commands(folder: Path, out: Path) -> list[list[str]]:
    """Return what is run of a study in a folder, in this order."""
    return [
        ["search", str(folder / "study.yaml"), "--out", str(out), "--resume", "--all"],
        ["report", str(out)],
        [
            "curve",
            str(out),
            "--random",
            "2",
            "--out",
            str(out / "curve.svg"),
            "--out",
            str(out / "curve.csv"),
            "--json",
        ],
        ["compare", str(out), str(out), "--json"],
        ["compare", str(out), str(out), "--markdown", str(out / "compared.md")],
        ["status", str(out), "--json"],
        ["show", str(out / "replays"), "--all"],
        ["show", str(out / "replays"), "--json"],
        ["show", str(out / "replays"), "--spans", str(out / "spans.jsonl")],
        ["check", str(out / "spans.jsonl"), "--json", "--junit", str(out / "check.xml")],
        ["doctor", "agent.py:agent"],
        ["suite", str(out), "--out", str(out / "suite"), "--explain"],
        ["replay", str(out / "suite"), "--mode", "both", "--json"],
        ["replay", str(out / "replays"), "--around"],
        ["replay", str(out / "replays"), "--junit", str(out / "r.xml"), "--sarif", str(out / "r.sarif"), "--github"],
    ]


@pytest.mark.slow
def test_a_planted_secret_is_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    out = tmp_path / "out"
    monkeypatch.chdir(tmp_path)  # no code elsewhere is run for a folder

    assert main(["search", str(tmp_path / "study.yaml"), "--out", str(out), "--json"]) == 1
    for arguments in commands(tmp_path, out):
        assert main(arguments) in (0, 1)
    for record in (out / "suite").glob("*.replay"):
        assert main(["show", "--textconv", str(record)]) == 0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(out / "summary.md"))
    for name, edit, code in (("fixed", FIX, 0), ("renamed", ('"bank", {', '"till", {'), 1)):
        (tmp_path / f"{name}.py").write_text(AGENT.replace(*edit), encoding="utf-8")
        asked = [
            "replay",
            str(out / "suite"),
            "--target",
            f"{name}.py:agent",
            "--mode",
            "both",
            "--promote",
            "--accept",
        ]
        assert main([*asked, "--around", "--github", "--sarif", str(out / f"{name}.sarif")]) == code

    assert pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(out), *PLUGIN, str(out / "suite")]) in (0, 1)
    told = capsys.readouterr()
    assert "no-crash" in told.out
    assert [line for line in (told.out + told.err).splitlines() if CANARY in line or LINE in line] == []
    written = [path for path in out.rglob("*") if path.is_file()]
    assert {"report.html", "curve.svg", "curve.csv", "study.db"} <= {path.name for path in written}
    assert {out / "objective" / "study.db", out / "random" / "study.db"} <= set(written)
    assert [
        (path, secret) for path in written for secret in (CANARY, LINE) if secret.encode() in path.read_bytes()
    ] == []
    assert "paying with" in told.err, "what the target prints is shown"


@pytest.mark.slow
def test_a_record_without_its_secrets_reproduces_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["search", "study.yaml", "--out", "out"]) == 1
    capsys.readouterr()

    main(["replay", "out/replays", "--mode", "both", "--json"])

    outcomes = {(one["mode"], one["outcome"]) for one in json.loads(capsys.readouterr().out)["records"]}
    assert outcomes == {("exact", "REPRODUCED"), ("schedule", "VIOLATED")}
    (tmp_path / "agent.py").write_text(AGENT.replace("raise ValueError", "return; raise ValueError"), encoding="utf-8")
    main(["replay", "out/replays", "--json"])
    told = json.loads(capsys.readouterr().out)["records"]
    assert "has changed since the record was made" not in str(told)
