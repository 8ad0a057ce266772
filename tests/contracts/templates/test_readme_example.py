"""The template in chaosagent/contracts/templates/README.md judges as the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.contracts.catalogue import Template
from chaosagent.contracts.contract import Setting
from chaosagent.errors import UsageError
from chaosagent.testing.steps import make_end, make_step, watch
from chaosagent.vocabulary import Task, Verdict

README = Path(__file__).parents[3] / "chaosagent" / "contracts" / "templates" / "README.md"


@pytest.fixture
def few_turns(monkeypatch: pytest.MonkeyPatch) -> Any:
    (source,) = re.findall(r"^```python title=few_turns\.py\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)
    module = ModuleType("few_turns")
    monkeypatch.setitem(sys.modules, "few_turns", module)
    exec(compile(source, "few_turns.py", "exec"), vars(module))
    return vars(module)["FewTurns"]


def test_the_margin_falls_until_the_violation(few_turns: Any) -> None:
    steps = [make_step(number, "model:chat", "complete") for number in range(3)]

    readings = watch(few_turns(turns=2), steps, make_end())

    assert readings[-1].verdict is Verdict.VIOLATED
    margins = [reading.margin for reading in readings]
    assert margins == sorted(margins, reverse=True)


def test_what_is_no_request_to_a_model_does_not_count(few_turns: Any) -> None:
    monitor = few_turns(turns=1).monitor(Setting(Task("a"), None))

    assert monitor.step(make_step(0, "service:bank", "pay")) is None
    assert monitor.end(make_end()).margin == 1.0
    assert monitor.state() == 0


def test_a_study_file_can_set_it_and_is_refused_what_is_not_allowed(few_turns: Any) -> None:
    template = Template(few_turns)

    assert template.name == "few-turns"
    assert template.summary == "More requests to models than allowed are a violation."
    assert "turns" in template.settings
    with pytest.raises(UsageError, match="turns must be a whole number"):
        template(turns=0)
