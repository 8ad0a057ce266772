"""Mistakes that runs without faults show are reported before the search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chaosagent as library

Command = Callable[..., Any]
AGENT = """
from chaosagent import Outcome, Task, target

@target(tasks=[Task("pay")])
async def agent(task, run):
    shop = run.service("payments", {"pay": lambda order: "paid"})
    run.service("mail", {"send": lambda: None})
    await shop("pay", order=7)
    return Outcome("paid", success=True)
"""
STUDY = """
target: agent.py:agent
search: {trials: 4}
operators:
- {operator: "service.d*", interfaces: ["service:paymets", "service:mail"], agents: [clerk]}
"""
MISSPELT = (
    "study.yaml:5: interfaces 'service:paymets' matches no interface of the runs without faults. Did you mean "
    "'service:payments'? Known: service:mail, service:payments. If only a fault leads to such an interface, leave it "
    "as it is."
)


@pytest.mark.slow
def test_a_misspelt_interface_is_reported_early(folder: Path, chaosagent: Command) -> None:
    (folder / "agent.py").write_text(AGENT, "utf-8")
    (folder / "study.yaml").write_text(STUDY, "utf-8")

    answer = chaosagent("search", "study.yaml", "--out", "out")

    told = " ".join(answer.err.split())
    assert told.count(MISSPELT) == 1
    assert "agents 'clerk' matches no agent of the runs without faults. Known: none." in told
    assert "'service:mail' matches" not in told  # a door that is opened and not called is known
    assert answer.code == 3


@pytest.mark.slow
def test_a_search_in_python_remarks_on_it(folder: Path) -> None:
    (folder / "agent.py").write_text(AGENT, "utf-8")
    (folder / "study.yaml").write_text(STUDY, "utf-8")

    assert any(MISSPELT in remark for remark in library.search(folder / "study.yaml").remarks)
