"""A crew's memories and knowledge behind doors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, Protocol

from crewai.memory.analyze import extract_memories_from_content
from crewai.memory.memory_scope import MemoryScope, MemorySlice
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr
from pydantic_core import to_jsonable_python

from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.crewai.copies import class_of, named_after, recast
from chaosagent.canonical import Plain

_SCORE_DIGITS = 3
"""Of the score of what is recalled: a part of it is the age, which depends on how fast the machine is."""
_FACTS = ("scope", "categories", "metadata", "importance", "source", "private")
_UNDER = ("categories", "importance", "metadata", "private", "root_scope", "scope", "source")
"""The arguments of `remember` that say how something is kept."""


class MemoryDoors(Protocol):
    """What memories and knowledge use of the doors of a run; see `chaosagent.adapters.crewai.doors.CrewDoors`."""

    threads: Threads

    def model(self, model: Any) -> Any: ...

    async def remember(self, operation: str, request: Mapping[str, Any], reach: Callable[[Any], Any]) -> Plain: ...

    async def look_up(
        self, name: str, query: Sequence[str], search: Callable[[Any], Any], *, native: bool = False
    ) -> Plain: ...


def door_memory(memory: Any, doors: MemoryDoors) -> Any:
    """Return a copy of a memory, or of a view of one, behind the door `memory:crew`; anything else as it is."""
    if isinstance(memory, MemoryScope | MemorySlice) and memory._memory is not None:
        return recast(memory, type(memory), _memory=door_memory(memory._memory, doors))
    if not isinstance(memory, Memory) or isinstance(memory, _DoorMark):
        return memory
    return recast(memory, _memory_kind(class_of(memory)), _door=doors)


def door_knowledge(knowledge: Any, doors: MemoryDoors) -> Any:
    """Return a copy of knowledge behind the door `retrieval:<collection>`."""
    if knowledge is None or isinstance(knowledge, _DoorMark):
        return knowledge
    return recast(knowledge, _knowledge_kind(class_of(knowledge)), _door=doors)


class _DoorMark:
    """Marks what has its door."""


@lru_cache(maxsize=64)
def _memory_kind(kind: Any) -> Any:
    """Return a kind of memory with a door before it."""

    class DoorMemory(_DoorMark, kind):  # type: ignore[misc]  # what kind of memory is known at run time only
        _door: Any = PrivateAttr(default=None)

        def extract_memories(self, content: str) -> Any:
            return extract_memories_from_content(content, self._door.model(self._llm))

        def recall(self, query: str, scope: str | None = None, **options: Any) -> Any:
            recall = super().recall

            def read(_: dict[str, Any]) -> Plain:
                return _plain_matches(recall(query, scope, **options))

            request = {"key": _key(scope, self.root_scope), "query": query, **_plain_options(options)}
            return _matches_of(self._door.threads.now(lambda: self._door.remember("read", request, read)))

        def remember(self, content: str, *args: Any, **options: Any) -> Any:
            if self.read_only:
                return None
            remember = super().remember
            given = dict(zip(_PLACES, args, strict=False)) | options
            kept: list[Any] = []

            def append(arguments: dict[str, Any]) -> Plain:
                for text in _texts(arguments.get("value")):
                    kept[:] = [remember(text, **given)]
                return None if not kept or kept[0] is None else _plain_record(kept[0])

            told = self._door.threads.now(lambda: self._door.remember("append", _entry(self, content, given), append))
            return _record_of(told) if isinstance(told, Mapping) else MemoryRecord(content=content, scope="/")

        def remember_many(self, contents: list[str], *args: Any, **options: Any) -> Any:
            if not contents or self.read_only:
                return []
            remember_many = super().remember_many
            given = dict(zip(_PLACES, args, strict=False)) | options

            def append(arguments: dict[str, Any]) -> None:
                remember_many(list(_texts(arguments.get("value"))), **given)
                self.drain_writes()  # in the background the order would depend on chance

            request = _entry(self, list(contents), given)
            try:
                self._door.threads.now(lambda: self._door.remember("append", request, append))
            except Exception as error:  # as in the background: nobody is told but who listens to CrewAI's events
                failed: Future[Any] = Future()
                failed.set_exception(error)
                self._on_save_done(failed)
            return []

    return named_after(DoorMemory, kind)


_PLACES = ("scope", "categories", "metadata", "importance", "source", "private", "agent_role", "root_scope")


@lru_cache(maxsize=64)
def _knowledge_kind(kind: Any) -> Any:
    """Return a kind of knowledge with a door before it."""

    class DoorKnowledge(_DoorMark, kind):  # type: ignore[misc]  # what kind of knowledge is known at run time only
        _door: Any = PrivateAttr(default=None)

        def query(self, query: list[str], *args: Any, **options: Any) -> Any:
            ask = super().query

            def search(arguments: dict[str, Any]) -> Plain:
                return _plain_passages(ask(list(arguments["query"]), *args, **options))

            told = self._door.threads.now(lambda: self._door.look_up(_name_of(self), query, search))
            return _passages_of(told)

        async def aquery(self, query: list[str], *args: Any, **options: Any) -> Any:
            ask = super().aquery

            async def search(arguments: dict[str, Any]) -> Plain:
                return _plain_passages(await ask(list(arguments["query"]), *args, **options))

            if self._door.threads.is_here():
                return _passages_of(await self._door.look_up(_name_of(self), query, search, native=True))
            here = asyncio.get_running_loop()

            def searched(arguments: dict[str, Any]) -> Plain:
                return asyncio.run_coroutine_threadsafe(search(arguments), here).result()

            return _passages_of(
                await self._door.threads.later(lambda: self._door.look_up(_name_of(self), query, searched))
            )

    return named_after(DoorKnowledge, kind)


# ------------------------------------------------------------------ memories as plain data


def _key(scope: str | None, root: str | None) -> str:
    return "/".join(part.strip("/") for part in (root, scope) if part and part.strip("/")) or "/"


def _entry(memory: Any, value: Plain, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked when something is to be remembered; the key is where it will be recalled from."""
    said = {name: given[name] for name in _UNDER if given.get(name) not in (None, False)}
    return {"key": _key(None, memory.root_scope), "value": value, **_plain_options(said)}


def _plain_options(options: Mapping[str, Any]) -> dict[str, Plain]:
    made: dict[str, Plain] = to_jsonable_python(dict(options), fallback=str)
    return made


def _plain_record(record: Any) -> dict[str, Plain]:
    """Return what is kept; its id and its times, which differ from run to run, do not cross."""
    facts = {name: getattr(record, name) for name in _FACTS if getattr(record, name) not in (None, [], {}, False)}
    return {"content": record.content, **_plain_options(facts)}


def _plain_matches(matches: Iterable[Any]) -> list[Plain]:
    """Return what is recalled, the best first; equally good ones in the order of their texts."""
    ordered = sorted(matches, key=lambda match: (-round(match.score, _SCORE_DIGITS), match.record.content))
    return [{**_plain_record(one.record), "score": round(one.score, _SCORE_DIGITS)} for one in ordered]


def _matches_of(told: Plain) -> list[Any]:
    """Return what is recalled, from plain data, whatever was done to them."""
    found: list[Any] = []
    for item in _flat(told):
        if isinstance(item, Mapping):
            score = item.get("score")
            made = _record_of(item)
        else:
            score, made = None, MemoryRecord(content=str(item))
        number = len(found) + 1  # ids that are unique here: CrewAI recalls an id once
        record = made.model_copy(update={"id": f"memory-{number}"})
        found.append(MemoryMatch(record=record, score=score if isinstance(score, int | float) else 0.0))
    return found


def _flat(told: Plain) -> Iterator[Plain]:
    if isinstance(told, list | tuple):
        for item in told:
            yield from _flat(item)
    elif told is not None:
        yield told


def _record_of(told: Mapping[str, Any]) -> Any:
    facts = {name: told[name] for name in _FACTS if isinstance(told.get(name), (str, list, dict, int, float))}
    try:
        return MemoryRecord(content=str(told.get("content", "")), **facts)
    except ValueError:  # of what an injection has made of it
        return MemoryRecord(content=str(told.get("content", "")))


def _texts(value: Plain) -> Iterator[str]:
    for item in _flat(value):
        yield item if isinstance(item, str) else str(item)


# ------------------------------------------------------------------ knowledge as plain data


def _name_of(knowledge: Any) -> str:
    return str(knowledge.collection_name or getattr(knowledge.storage, "collection_name", None) or "knowledge")


def _plain_passages(found: Sequence[Mapping[str, Any]] | None) -> list[Plain]:
    passages: list[Plain] = []
    for passage in found or ():
        text = passage.get("content", "")
        rest = {name: value for name, value in passage.items() if name != "content"}
        passages.append({"text": text, **_plain_options(rest)})
    return passages


def _passages_of(told: Plain) -> list[dict[str, Any]]:
    passages: list[dict[str, Any]] = []
    for passage in _flat(told):
        if isinstance(passage, Mapping):
            rest = {name: value for name, value in passage.items() if name != "text"}
            passages.append({"metadata": {}, "score": 0.0, "id": "", **rest, "content": str(passage.get("text", ""))})
        else:
            passages.append({"id": "", "content": str(passage), "metadata": {}, "score": 0.0})
    return passages
