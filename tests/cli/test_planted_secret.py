"""A secret that is planted in a run is in nothing that is printed or written of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.cli.main import main

CANARY = "sk-canary-7f3a9b"
AGENT = f'''
import chaosagent

@chaosagent.target(tasks=[chaosagent.Task("pay")], secrets=[r"sk-canary-[0-9a-f]+"])
async def agent(task, run):
    vault = run.service("vault", {{"read": lambda name: {{"key": "{CANARY}"}}}}, read_only=True)
    bank = run.service(
        "bank", {{"pay": lambda order, key: {{"used": key}}}}, effects={{"pay": chaosagent.effect("order")}}
    )
    key = (await vault("read", name="bank"))["key"]
    if not isinstance(key, str):
        raise ValueError(f"no key, but {CANARY} was expected")
    for _ in range(2):
        try:
            await bank("pay", order=f"with {{key}}", key=key)
            break
        except TimeoutError:
            await run.clock.sleep(1)
    return chaosagent.Outcome(f"Paid with {{key}}.", success=True, state={{"key": key}})
'''
STUDY = """
target: agent.py:agent
contracts: [default]
budget: 1.2
operators: [service.timeout, service.field_corruption, service.error_status]
"""


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
    for arguments in (
        ["search", str(tmp_path / "study.yaml"), "--out", str(out), "--resume", "--all"],
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
        ["status", str(out), "--json"],
        ["show", str(out / "replays"), "--all"],
        ["replay", str(out / "replays"), "--junit", str(out / "r.xml"), "--sarif", str(out / "r.sarif"), "--github"],
    ):
        assert main(arguments) in (0, 1)

    told = capsys.readouterr()
    assert "no-crash" in told.out
    assert CANARY not in told.out + told.err
    written = [path for path in out.rglob("*") if path.is_file()]
    assert {"report.html", "curve.svg", "curve.csv", "study.db"} <= {path.name for path in written}
    assert {out / "objective" / "study.db", out / "random" / "study.db"} <= set(written)
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
