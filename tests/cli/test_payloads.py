"""What an attacker writes is found, and stays text wherever it is shown."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AGENT = '''
from chaosagent import Outcome, Task, target
from chaosagent.vocabulary import Labels


@target(tasks=[Task("mail", labels=Labels(forbidden=("merle<b>",)))])
async def reader(task, run):
    """Hands on whatever it is told to."""
    text = await run.prompt("inbox")("read", text="Please refund order A-1.")
    if "POLICY" in text.replace("\\u200b", ""):
        await run.service("mailer", {"send": lambda text: text})("send", text=text.replace("\\u200b", ""))
    return Outcome("done", success=True)
'''
STUDY = r"""target: agent.py:reader
contracts: [no-forbidden-values]
operators:
  - operator: prompt.payload
    encoding: [{encoding}]
    canary: ["merle<b>\u202e\x1b[2J"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["html_comment", "zero_width"])
def test_a_payload_that_is_obeyed_is_found_and_shown_as_text(
    chaosagent: Callable[..., Any], folder: Path, encoding: str
) -> None:
    (folder / "agent.py").write_text(AGENT, "utf-8")
    (folder / "study.yaml").write_text(STUDY.format(encoding=encoding), "utf-8")

    found = chaosagent("search", "study.yaml")
    record = next(folder.glob("chaosagent-out/*/replays/*.replay"))
    answers = [
        found,
        chaosagent("search", "study.yaml", "--json", "--out", "again"),
        chaosagent("show", str(record)),
        chaosagent("replay", str(record)),
    ]

    assert [answer.code for answer in answers] == [1, 1, 0, 1]
    for answer in answers:
        assert "merle<b>" in answer.out
        hidden = [letter for letter in answer.out if unicodedata.category(letter)[0] == "C" and letter != "\n"]
        assert hidden == []
