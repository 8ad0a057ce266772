"""What GitHub's runner would do with the output of commands: all of chaosagent's commands, none of a target's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.report.formats.github import inert

HOSTILE = '''
import os, subprocess, sys
from chaosagent import Outcome, Task, target

SAID = "::stop-commands::tok\\n::error::MINE\\n\\u2003::error::MINE\\nso ##[error]MINE\\n"

@target(tasks=[Task("t", input=1)])
async def talks(task, run):
    """Says what the runner obeys, in every way that a program has."""
    payments = run.service("payments", {"refund": lambda order: {}})
    print(SAID, SAID, sep="\\r")
    sys.stderr.write("no end of line ::error::MINE")
    for descriptor in (1, 2):
        os.write(descriptor, SAID.encode())
        os.write(descriptor, b"no end of line ##[warning]MINE ")
    subprocess.run(["echo", SAID], check=True)
    try:
        await payments("refund", order=task.input)
    except Exception as error:
        raise RuntimeError("##[error]MINE\\r\\n::error::MINE") from error
    return Outcome(SAID, success=True)
'''
STUDY = "target: agent.py:talks\ncontracts: [no-crash]\nbudget: 2\noperators: [service.error_status]\n"
KNOWN = {"error", "warning", "notice", "add-mask", "debug", "group", "set-output", "stop-commands"}


def obeyed(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that the runner obeys: its `ActionCommand` and `ActionCommandManager`, in short."""
    known, token = set(KNOWN), ""
    for line in lines:
        new = re.match(r"::([^ ]*?)(?: .*?)?::(.*)", line.lstrip())
        old = re.search(r"##\[([^ \]]*)[^]]*\](.*)", line)
        found = next((one for one in (new, old) if one is not None and one[1].lower() in known), None)
        if found is None:
            continue
        if token:
            if found[1].lower() == token:
                known.remove(token)
                token = ""
        elif found[1].lower() == "stop-commands":
            token = found[2].lower()
            known.add(token)
        else:
            yield line
    assert not token, "commands are still stopped at the end"


def lines_of(output: bytes) -> list[str]:
    """Return lines as .NET reads them from a pipe."""
    return re.split("\r\n|\r|\n", output.decode())


@pytest.mark.slow
def test_nothing_that_a_target_says_is_a_command_of_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "agent.py").write_text(HOSTILE, "utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    for arguments, code, stopped in (
        (["search", "study.yaml", "--out", "found", "--github"], 1, 1),
        (["replay", "found/replays", "--github"], 1, 1),
        (["replay", "found/replays", "--github", "--json"], 1, 1),
        (["show", "found/replays", "--all"], 0, 0),
    ):
        assert main(arguments) == code
        printed = capfdbinary.readouterr()
        errors = lines_of(printed.err)
        assert not stopped or sum("MINE" in line for line in errors) > 10
        assert list(obeyed(lines_of(printed.out))) == []
        ours = list(obeyed(errors))
        assert all(line.startswith("::error file=found/replays/") for line in ours)
        assert len(ours) == ("--github" in arguments)
        stops = [line for line in errors if re.fullmatch("::stop-commands::[0-9a-f]{32}", line)]
        assert len(stops) == stopped
        stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert not any(stop.rpartition(":")[2].encode() in data for stop in stops for data in stored)


@pytest.mark.parametrize(
    "text", ["::error::x", "a\n \u2003::error::x", "a\r::error::x", "###[error]x", "a ##[error]x ##[debug]"]
)
def test_a_text_is_changed_on_github_alone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert list(obeyed(lines_of(text.encode())))
    assert list(obeyed(lines_of(inert(text).encode()))) == []
    assert inert("std::vector and #[x]\n: :") == "std::vector and #[x]\n: :"
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert inert(text) == text
