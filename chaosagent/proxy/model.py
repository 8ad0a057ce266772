"""A model over HTTP: its requests cross the door `model:<name>`, the tools that they offer `tools:<name>`.

What a tool answered is read by the model with the next request; where the proxy is told to, each such text crosses
`prompt:<name>` once, and stays as it was altered.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chaosagent.canonical import digest, pack
from chaosagent.proxy.concurrency import CallOrder
from chaosagent.proxy.dialect import Body, Dialect
from chaosagent.proxy.upstream import Headers, ModelUpstream
from chaosagent.targets.call_handler import COMPLETE, handed_over, through
from chaosagent.targets.target import Ask, Run

_STREAMING = ("stream", "stream_options")
_IDS = frozenset({"id", "call_id", "item_id", "tool_call_id", "tool_use_id", "previous_response_id"})
RETRIED_BYTES_MAX = 16_000_000
"""Canonical bytes of requests whose retries are recognised, at most; the oldest are forgotten first."""

_ATTEMPT = "x-stainless-retry-count"
"""Header in which the clients of OpenAI and Anthropic count how often they have tried before."""


class _Asked(NamedTuple):
    """A logical call, which a client may try again.

    Attributes:
        ask: Its attempts.
        number: Of the call, in this run.
        request: With the tools and texts that the model is shown.
    """

    ask: Ask
    number: str
    request: Body


class ModelDoor:
    """The door to one model.

    Args:
        run: The run.
        name: Of the upstream.
        upstream: Where its requests go.
        together: Lets calls in.
        neutral: Takes out of plain data what differs from run to run.
        with_prompts: Results of tools cross `prompt`.
        pure: The answer depends on the request and on chance alone.
    """

    def __init__(
        self,
        run: Run,
        name: str,
        upstream: ModelUpstream,
        *,
        together: CallOrder,
        neutral: Callable[[Any], Any],
        with_prompts: bool = False,
        pure: bool = True,
    ) -> None:
        self._run, self._name, self._upstream, self._together, self._neutral = run, name, upstream, together, neutral
        self._door = run.model(name, handed_over, pure=pure)
        self._with_prompts = with_prompts
        self._asked: dict[str, _Asked] = {}
        self._sizes: dict[str, int] = {}
        self._remembered = 0
        self._read: dict[tuple[str, str], str] = {}
        self._originals: dict[str, str] = {}
        self._count = 0

    async def complete(self, dialect: Dialect, request: Mapping[str, Any], headers: Headers) -> Body:
        """Let a request through the door and return the response; raises what was injected."""
        wanted = self._neutral({name: value for name, value in request.items() if name not in _STREAMING})
        streaming = {name: request[name] for name in _STREAMING if name in request}
        packed = pack([dialect.name, wanted])
        key = digest(packed)
        await self._together.enter(f"{self._name} {key}".encode())
        asked = self._asked.get(key) if _is_retry(headers) else None
        if asked is None:
            asked = await self._prepared(dialect, wanted)
            self._remember(key, asked, len(packed))
        ids: list[str] = []

        async def send(given: dict[str, Any]) -> Any:
            async with self._together.in_order():
                original = _renamed(copy.deepcopy({**given, **streaming}), self._originals)
                body = await self._upstream.ask(dialect, original, headers)
                ids.extend(_ids_in(body))
                return dialect.answer_of(body)

        answer = await through(lambda _, **__: asked.ask.attempt(), COMPLETE, {}, send)
        told = dialect.body_of(answer if isinstance(answer, Mapping) else {"content": answer}, asked.number)
        ours = _ids_in(told)
        if len(ours) == len(ids):  # otherwise an injection took something away, and its id is of no use
            self._originals.update(zip(ours, ids, strict=True))
        return told

    def _remember(self, key: str, asked: _Asked, size: int) -> None:
        """Keep a call while its client may try it again, which is soon: a long session would take too much memory."""
        self._remembered += size - self._sizes.pop(key, 0)
        self._asked.pop(key, None)
        self._asked[key], self._sizes[key] = asked, size
        while self._remembered > RETRIED_BYTES_MAX and len(self._asked) > 1:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            self._remembered -= self._sizes.pop(oldest)

    async def _prepared(self, dialect: Dialect, wanted: Body) -> _Asked:
        """Show the model the tools and texts of a request, through their doors, and count the call."""
        self._count += 1
        number = str(self._count)
        tools = dialect.tools_of(wanted)
        if tools:
            told = await through(self._run.tools(self._name, handed_over), "list", {}, lambda _: tools)
            dialect.with_tools(wanted, [tool for tool in told if isinstance(tool, Mapping)])
        if self._with_prompts:
            for result in dialect.results_of(wanted):
                key = result.call, result.text
                if key not in self._read:
                    self._read[key] = str(await self._run.prompt(self._name)("read", text=result.text))
                if self._read[key] != result.text:
                    result.replace(self._read[key])
        return _Asked(self._door.ask(COMPLETE, **wanted), number, wanted)


def _is_retry(headers: Headers) -> bool:
    return any(name.lower() == _ATTEMPT and value.strip() not in ("", "0") for name, value in headers)


def _ids_in(value: Any) -> list[str]:
    """Return the ids that stand in a response, in their order."""
    if isinstance(value, list):
        return [found for item in value for found in _ids_in(item)]
    if not isinstance(value, dict):
        return []
    own = [value[name] for name in ("id", "call_id") if isinstance(value.get(name), str)]
    return [*own, *(found for name, item in sorted(value.items()) if name != "input" for found in _ids_in(item))]


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a request with the ids that its upstream knows."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: names.get(item, item) if name in _IDS and isinstance(item, str) else _renamed(item, names)
        for name, item in value.items()
    }
