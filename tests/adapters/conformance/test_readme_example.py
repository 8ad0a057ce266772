"""The adapter in chaosagent/adapters/README.md passes the conformance suite, and the suite notices what is broken."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import Desk

README = Path(__file__).parents[3] / "chaosagent" / "adapters" / "README.md"
FENCE = re.compile(r"^```python title=(\w+)\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCES = dict(FENCE.findall(README.read_text("utf-8")))


def _modules(**changes: tuple[str, str]) -> dict[str, ModuleType]:
    """Return the modules of the page, some of them with a text replaced."""
    made: dict[str, ModuleType] = {}
    kept = {name: sys.modules.get(name) for name in SOURCES}
    try:
        for name, source in SOURCES.items():
            if name in changes:
                assert changes[name][0] in source
                source = source.replace(*changes[name])
            module = made[name] = sys.modules[name] = ModuleType(name)
            exec(compile(source, f"{name}.py", "exec"), vars(module))
    finally:
        for name, before in kept.items():
            sys.modules.pop(name, None) if before is None else sys.modules.__setitem__(name, before)
    return made


PAGE = _modules()


class TestTiny(AdapterConformance):
    """The suite of the page, as the page has it."""

    shown: Any = PAGE["test_tiny"].TestTiny()

    def build(self, desk: Desk) -> Any:
        return self.shown.build(desk)

    async def alone(self, agent: Any) -> str:
        return str(await self.shown.alone(agent))

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        return str(await self.shown.through_doors(agent, run, **options))


def test_the_page_shows_a_suite_that_pytest_collects() -> None:
    assert issubclass(PAGE["test_tiny"].TestTiny, AdapterConformance)
    assert len(SOURCES["tiny_doors"].splitlines()) < 80


BROKEN = {
    "equal_runs": ("next_ids(taken, len(calls_of(told)))", "[str(id(call)) for call in calls_of(told)]"),
    "plain_data": ('"content": answer["text"], "tool_calls": calls', '"content": str(calls)'),
    "link_to": ("call_id=CALL.get()", 'call_id="another"'),
    "says_what": ('return {"text": text_of(told)', 'return {"text": "nothing"'),
    "refused": ("tools.check(agent.tools)", "pass"),
    "altered_answer_of_a_tool": ('request = {"messages": messages,', 'request = {"messages": messages[:1],'),
    "become_crossings": ("self.agent.call = self._ask, self._call", "self.agent.call = self._ask, agent.call"),
    "left_behind": ("agent, copy.copy(agent)", "agent, agent"),
    "every_fault": ('if not isinstance(call["arguments"], dict) or', "if"),
    "failure_of_a_tool": ('return f"{type(error).__name__}: {error}"', 'return "failed"'),
}
"""What is replaced in the adapter of the page by what, by a part of the name of the test that must notice it."""


def _broken(part: str) -> AdapterConformance:
    suite: AdapterConformance = _modules(tiny_doors=BROKEN[part])["test_tiny"].TestTiny()
    return suite


def _tests(suite: AdapterConformance, part: str) -> Iterator[Callable[[], None]]:
    for name in dir(suite):
        if name.startswith("test_") and part in name:
            yield getattr(suite, name)


@pytest.mark.parametrize("part", BROKEN)
def test_the_suite_notices_a_broken_adapter(part: str) -> None:
    (test,) = _tests(_broken(part), part)

    with pytest.raises(AssertionError, match=r"\w"):
        test()
