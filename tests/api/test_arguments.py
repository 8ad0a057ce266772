"""Whatever is given to a public function, it works or is refused by name: no traceback from inside comes out."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import chaosagent
from chaosagent.api.study import CostKeys, RunKeys, SearchKeys

Call = Callable[[Any], object]
api: Any = chaosagent
"""The package, without its types."""
CHECKED = ("contracts", "effects", "read_only", "egress", "canaries", "forbidden")
LISTS = ("tasks", "seeds", "contracts", "operators")


@chaosagent.target(tasks=[chaosagent.Task("only")])
def crashing(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
    run.service("clock", {"now": lambda: 1})("now")
    return chaosagent.Outcome("done")


def odd_values() -> dict[str, object]:
    in_itself: list[object] = []
    in_itself.append(in_itself)
    of_itself: dict[str, object] = {}
    of_itself["key"] = of_itself
    deep: list[object] = []
    wide: list[object] = []
    for _ in range(3_000):
        deep = [deep]
    for _ in range(30):
        wide = [wide, wide]
    plain: tuple[object, ...] = (None, 5, -1, 0, 1e308, float("nan"), "", "a\0b", "\ud800", b"x", [], [[]], {})
    return {
        **{repr(value): value for value in (*plain, {5: 6}, {1, 2}, int)},
        "object": object(),
        "a list in itself": in_itself,
        "a mapping in itself": of_itself,
        "deep": deep,
        "wide": wide,
        "function": lambda *_: None,
        "huge": 10**5_000,
        "long": "9" * 5_000,
    }


def given_to(call: Callable[..., object], name: str) -> Call:
    return lambda value: call(**{name: value})


def inside(part: str, key: str) -> Call:
    return lambda value: api.Study(crashing, **{part: {key: value}})


def in_a_list(name: str) -> Call:
    return lambda value: api.Study(crashing, **{name: [value]})


def checking(key: str) -> Call:
    return lambda value: api.check([], {key: value})


def calls(record: chaosagent.Counterexample) -> Iterator[tuple[str, Call]]:
    """Yield each parameter with a function that gives it a value; nothing is searched, as the study names no target."""
    yield from (("load folder", api.load), ("search study", api.search), ("replay records", api.replay))
    yield from (("check traces", api.check), ("Study target", api.Study))
    for function, first in ((api.search, api.Study("no-such-target")), (api.replay, []), (api.replay, record)):
        for name in list(inspect.signature(function).parameters)[1:]:
            if (name, first) != ("accept", record):
                yield f"{function.__name__} {name}", given_to(functools.partial(function, first), name)
    for name in ("contracts", "skip_broken"):
        yield f"check {name}", given_to(functools.partial(api.check, []), name)
    yield from ((f"check {name}", checking(name)) for name in CHECKED)
    for name in list(inspect.signature(api.Study).parameters)[1:]:
        yield f"Study {name}", given_to(functools.partial(api.Study, crashing), name)
    yield from ((f"Study {name}", in_a_list(name)) for name in LISTS)
    for part, keys in (("cost", CostKeys), ("search", SearchKeys), ("run", RunKeys)):
        yield from ((f"Study {part}.{key}", inside(part, key)) for key in keys.__annotations__)
    yield "Study contracts", lambda value: api.Study(crashing, contracts=[{"contract": value}])
    mapping = {"operator": "service.delay"}
    yield "Study operators", lambda value: api.Study(crashing, operators=[{**mapping, "interfaces": value}])


@pytest.fixture(scope="module")
def record() -> chaosagent.Counterexample:
    study = api.Study(dataclasses.replace(crashing), contracts=["no-crash"], operators=["service.timeout"], budget=1.2)
    (found,) = chaosagent.search(study).counterexamples
    return found


@pytest.mark.slow
def test_odd_arguments_are_used_or_refused_by_name(
    record: chaosagent.Counterexample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    bad: list[str] = []
    for name, call in calls(record):
        for shown, value in odd_values().items():
            try:
                call(value)
            except chaosagent.ChaosAgentError as error:
                text, parameter = str(error), name.split()[-1]
                known = parameter in text or "no-such-target" in text or "configuration" in text
                if not known and not isinstance(value, str):
                    bad.append(f"{name}={shown}: {text[:200]}")
            except Exception as error:
                bad.append(f"{name}={shown}: {type(error).__name__}: {error!s:.200}")

    assert bad == []
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: api.load(None), r"load(folder=empty): folder must be the path"),
        (lambda: api.search("study.yaml", out="a\0b"), "search(out='a\\x00b'): out is no possible path"),
        (lambda: api.search("s.yaml", on_progress=5), "search(on_progress=5): on_progress must be a function"),
        (lambda: api.search("study.yaml", workers=100_000), "workers must be a whole number from 1 to 256."),
        (lambda: api.replay([], target=5), "replay(target=5): target must be a target or its name"),
        (lambda: api.Study(crashing, search={"settings": {"r1": object}}), "search.settings.r1 is <class"),
        (lambda: api.replay([], write="accept", mode="exact"), "write is for schedules"),
    ],
)  # fmt: skip
def test_a_refused_argument_is_named_with_what_is_allowed(
    call: Callable[[], object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text("target: triage")
    (tmp_path / "s.yaml").write_text("target: triage")

    with pytest.raises(chaosagent.UsageError, match=re.escape(said)):
        call()
