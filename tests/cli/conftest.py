"""A folder as a user has it: an agent, a study of it, and the command line run in it."""

import json
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.main import main

AGENT = '''
from chaosagent import Claim, Effect, Outcome, SystemConfig, Task, target


def paid(arguments, answer):
    return None if answer["repeated"] else Effect("refund", {"order": arguments["order"]})


@target(
    tasks=[Task("late", input=7), Task("lost", input=8)],
    configs=[SystemConfig("naive", {"keys": False}), SystemConfig("hardened", {"keys": True})],
)
async def shop(task, run):
    """Pays a refund, and tries again when it does not hear."""
    print("what a target prints is no answer")
    known = set()

    def refund(order, key):
        repeated = key in known
        known.update([key] if key else [])
        return {"repeated": repeated}

    payments = run.service("payments", {"refund": refund}, effects={"refund": paid})
    key = f"k-{task.input}" if run.config.settings["keys"] else None
    for _ in range(2):
        try:
            await payments("refund", order=task.input, key=key)
            return Outcome("paid", success=True, claims=(Claim("refund", {"order": task.input}),))
        except ConnectionError:
            await run.clock.sleep(1)
    return Outcome("not paid", success=False)
'''
STUDY = """target: agent.py:shop
contracts: [at-most-once, no-crash]
budget: 1.2
operators: [service.lost_response, service.delay]
"""


@dataclass(frozen=True)
class Answer:
    """What a command answered.

    Attributes:
        code: Its exit code.
        out: Of stdout.
        err: Of stderr.
    """

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Command = Callable[..., Answer]


@pytest.fixture(autouse=True)
def path_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a command makes importable be importable for no other test."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with `agent.py` and `study.yaml`, and work in it."""
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def chaosagent(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs the command line in the folder."""
    assert folder.is_dir()

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder to keep what the search of `records` has written, which is the same for every test."""
    return tmp_path_factory.mktemp("searched")


@pytest.fixture
def records(chaosagent: Command, searched: Path) -> Path:
    """Return a folder with the records of a search."""
    if not (searched / "found").exists():
        assert chaosagent("search", "study.yaml", "--out", "found").code == 1
        shutil.copytree("found", searched / "found")
    else:
        shutil.copytree(searched / "found", "found")
    return Path("found/replays")


@pytest.fixture
def reserved_port() -> Iterator[int]:
    """Return a port of loopback that no other test can be given, and where nobody listens unless told to."""
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # so that a server may, which allows it, too
        holding.bind(("127.0.0.1", 0))
        yield holding.getsockname()[1]
