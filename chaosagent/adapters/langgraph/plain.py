"""What LangChain and LangGraph hand around, as plain data and back, without loss.

Plain data stay as they are. What else there is becomes a mapping with one key that says what it was: `$message`,
`$command`, `$interrupt`, `$send`, `$tuple`, `$set`, `$pairs` (a mapping whose keys are no texts) or `$typed`, the bytes
of LangGraph's own serializer with nothing allowed but what LangGraph holds to be safe and what the user names: a replay
record that somebody else has made must not be able to construct anything.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import langchain_core.messages as messages
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Send

from chaosagent.adapters.core.drawn_ids import DrawnIds
from chaosagent.canonical import Plain, pack
from chaosagent.errors import TargetError
from chaosagent.targets.call_handler import is_behind

_KINDS = {
    name: getattr(messages, name)
    for name in (
        "AIMessage", "AIMessageChunk", "ChatMessage", "FunctionMessage", "HumanMessage", "RemoveMessage",
        "SystemMessage", "ToolMessage",
    )
}  # fmt: skip
_ATOMS = (type(None), bool, int, float, str, bytes)
_ALIASES = uuid.UUID("6f0d3d0c-6d3e-4a53-9a35-0f2a3d1f6a10")


class Names(DrawnIds):
    """Ids that a framework draws, renamed by first appearance: what crosses is equal in every run."""

    def alias(self, kind: str, given: str | None) -> str:
        """Return what an id is called where it crosses; empty for none."""
        if not given:
            return ""
        return self.name(given, f"{kind}-behind-" if is_behind() else f"{kind}-")

    def id(self, alias: str) -> str | None:
        """Return the id behind an alias; of one that this run has not seen, always the same UUID."""
        if not alias:
            return None
        if self.known(alias) is None:
            self.bind(str(uuid.uuid5(_ALIASES, alias)), alias)
        return self.known(alias)


class Codec:
    """Turns values into plain data and back.

    Args:
        types: Classes beyond those that LangGraph holds to be safe, as they may stand in a state or be returned by a
            tool.
    """

    def __init__(self, types: Iterable[type] = ()) -> None:
        self.names = Names()
        allowed = [(kind.__module__, kind.__qualname__) for kind in types]
        self._serializer = JsonPlusSerializer(allowed_msgpack_modules=allowed or None)

    def encode(self, value: Any) -> Plain:
        """Return plain data.

        Raises:
            TargetError: There is something in it that could not be made again.
        """
        if type(value) in _ATOMS:
            return value  # type: ignore[no-any-return]
        if type(value) is list:
            return [self.encode(item) for item in value]
        if type(value) is dict:
            return self._encode_mapping(value)
        if type(value) is tuple:
            return {"$tuple": [self.encode(item) for item in value]}
        if type(value) in (set, frozenset):
            return {"$set": sorted((self.encode(item) for item in value), key=pack)}
        if _KINDS.get(type(value).__name__) is type(value):
            return {"$message": self.fields(value)}
        if type(value) is Command:
            return {"$command": {name: self.encode(getattr(value, name)) for name in ("graph", "goto", "update")}}
        if type(value) is Send:
            return {"$send": [value.node, self.encode(value.arg)]}
        if type(value) is Interrupt:
            return {"$interrupt": [self.encode(value.value), self.names.alias("interrupt", value.id)]}
        return self._encode_typed(value)

    def decode(self, value: Plain) -> Any:
        """Return what `encode` was given; of altered plain data, what they say now."""
        if isinstance(value, list | tuple):
            return [self.decode(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1:
            ((key, inside),) = value.items()
            make = self._makers().get(key)
            if make is not None:
                return make(inside)
        return {key: self.decode(item) for key, item in value.items()}

    def fields(self, message: BaseMessage) -> dict[str, Plain]:
        """Return what the fields of a message say; ids of tool calls stay, that of the message is renamed."""
        found: dict[str, Plain] = {"kind": type(message).__name__}
        for name, field in type(message).model_fields.items():
            value = getattr(message, name)
            if name not in ("id", "type") and value != field.get_default(call_default_factory=True):
                found[name] = self.encode(value)
        found |= {name: self.encode(value) for name, value in (message.model_extra or {}).items()}
        if message.id:
            found["id"] = self.names.alias("message", message.id)
        return found

    def _makers(self) -> dict[str, Callable[[Any], Any]]:
        return {
            "$tuple": lambda inside: tuple(self.decode(item) for item in inside),
            "$set": lambda inside: {self.decode(item) for item in inside},
            "$pairs": lambda inside: {self.decode(key): self.decode(item) for key, item in inside},
            "$message": self._decode_message,
            "$command": lambda inside: Command(**{name: self.decode(item) for name, item in inside.items()}),
            "$send": lambda inside: Send(inside[0], self.decode(inside[1])),
            "$interrupt": lambda inside: Interrupt(self.decode(inside[0]), self.names.id(inside[1])),
            "$typed": lambda inside: self._serializer.loads_typed(("msgpack", inside)),
        }

    def _encode_mapping(self, value: dict[Any, Any]) -> Plain:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.encode(item) for key, item in value.items()}
        return {"$pairs": [[self.encode(key), self.encode(item)] for key, item in value.items()]}

    def _decode_message(self, fields: Mapping[str, Plain]) -> BaseMessage:
        given = {name: self.decode(value) for name, value in fields.items() if name not in ("id", "kind")}
        kind = _KINDS[str(fields["kind"])]
        made: BaseMessage = kind(**given, id=self.names.id(str(fields.get("id", ""))))
        return made

    def _encode_typed(self, value: Any) -> Plain:
        kind, data, made = "", b"", None
        with contextlib.suppress(TypeError):  # what the serializer does not know at all
            kind, data = self._serializer.dumps_typed(value)
            made = self._serializer.loads_typed((kind, data))
        if kind != "msgpack" or type(made) is not type(value):
            name = f"{type(value).__module__}.{type(value).__qualname__}"
            raise TargetError(
                f"{name} crosses a door of LangGraph and could not be made again in a replay. Name the class in "
                "through_doors(run, types=[...]) if it is a dataclass or a pydantic model, or return plain data."
            )
        return {"$typed": data}
