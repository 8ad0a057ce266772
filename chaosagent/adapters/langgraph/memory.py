"""LangGraph's stores and checkpointers behind a door."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import RESUME
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp

from chaosagent.adapters.langgraph.plain import Codec
from chaosagent.canonical import Plain

Cross = Callable[[str, Mapping[str, Any], Callable[[dict[str, Any]], Any]], Awaitable[Any]]
"""Reaches a memory through its door: operation, request, and what reaches the memory itself."""

Now = Callable[[Callable[[], Awaitable[Any]]], Any]
"""Runs something asynchronous where the caller is not."""

_SEPARATOR = "/"


class DoorStore(BaseStore):  # type: ignore[misc]  # LangGraph is not in every checkout
    """A store behind a door: `read`, `write`, `delete`, `search` and `namespaces`, one call for each.

    Keys are those of the store with their namespace before them, joined by `/`; one inside of a part crosses as `%2F`,
    and `%` as `%25`. An item's times are those of the run's
    clock: a store draws them from the clock of its machine.

    Args:
        inner: The store.
        cross: Takes a request through the door.
        now: For callers that are not asynchronous.
        codec: Of values.
        seconds: The time of the run.
    """

    def __init__(self, inner: BaseStore, cross: Cross, now: Now, codec: Codec, seconds: Callable[[], float]) -> None:
        self._inner, self._cross, self._now, self._codec, self._seconds = inner, cross, now, codec, seconds
        self.supports_ttl, self.ttl_config = inner.supports_ttl, getattr(inner, "ttl_config", None)

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Take operations through the door, one after the other."""
        listed = list(ops)
        found: list[Any] = self._now(lambda: self.abatch(listed))
        return found

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Take operations through the door, one after the other."""
        return [await self._one(op) for op in ops]

    async def _one(self, op: Any) -> Any:
        if isinstance(op, GetOp):
            return await self._get(op)
        if isinstance(op, PutOp):
            return await self._put(op)
        if isinstance(op, SearchOp):
            return await self._search(op)
        if isinstance(op, ListNamespacesOp):
            return await self._namespaces(op)
        return (await self._inner.abatch([op]))[0]  # an operation of a later version of LangGraph

    async def _get(self, op: GetOp) -> Item | None:
        async def read(_: dict[str, Any]) -> Plain:
            (item,) = await self._inner.abatch([op])
            return None if item is None else self._codec.encode(item.value)

        value = self._codec.decode(await self._cross("read", {"key": _joined(op.namespace, op.key)}, read))
        return None if value is None else Item(value=value, key=op.key, namespace=op.namespace, **self._times())

    async def _put(self, op: PutOp) -> None:
        key, sent = _joined(op.namespace, op.key), self._codec.encode(op.value)

        async def write(altered: dict[str, Any]) -> None:
            value = op.value if altered.get("value") == sent else self._codec.decode(altered.get("value"))
            await self._inner.abatch([op._replace(value=value)])

        if op.value is None:
            await self._cross("delete", {"key": key}, write)
        else:
            await self._cross("write", {"key": key, "value": sent}, write)

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        async def search(_: dict[str, Any]) -> Plain:
            (items,) = await self._inner.abatch([op])
            return [
                {"key": _joined(item.namespace, item.key), "value": self._codec.encode(item.value), "score": item.score}
                for item in items
            ]

        asked = {"key": _path(op.namespace_prefix), "limit": op.limit, "offset": op.offset}
        asked |= {name: value for name, value in (("query", op.query), ("filter", op.filter)) if value is not None}
        found = await self._cross("search", asked, search)
        items = []
        for one in found or ():
            *namespace, key = _parts(str(one["key"]))
            value = self._codec.decode(one["value"])
            made = SearchItem(tuple(namespace), key, value, **self._times(), score=one.get("score"))
            items.append(made)
        return items

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        async def namespaces(_: dict[str, Any]) -> Plain:
            (found,) = await self._inner.abatch([op])
            return [list(namespace) for namespace in found]

        conditions = [[one.match_type, list(one.path)] for one in op.match_conditions or ()]
        asked = {"conditions": conditions, "depth": op.max_depth, "limit": op.limit, "offset": op.offset}
        return [tuple(namespace) for namespace in await self._cross("namespaces", asked, namespaces) or ()]

    def _times(self) -> dict[str, Any]:
        moment = datetime.datetime.fromtimestamp(self._seconds(), datetime.UTC)
        return {"created_at": moment, "updated_at": moment}


def _joined(namespace: Sequence[str], key: str) -> str:
    return _path([*namespace, key])


def _path(parts: Sequence[str]) -> str:
    return _SEPARATOR.join([part.replace("%", "%25").replace(_SEPARATOR, "%2F") for part in parts])


def _parts(path: str) -> list[str]:
    return [part.replace("%2F", _SEPARATOR).replace("%25", "%") for part in path.split(_SEPARATOR)]


class DoorSaver(BaseCheckpointSaver[Any]):  # type: ignore[misc]  # LangGraph is not in every checkout
    """A checkpointer behind a door: `read`, `write`, `put_writes`, `history` and `delete`, by thread.

    Ids of checkpoints and tasks are renamed by first appearance where they cross, and times stay out of it. Versions of
    channels are counted: some savers draw a part of them by chance.

    Args:
        inner: The checkpointer.
        cross: Takes a request through the door.
        now: For callers that are not asynchronous.
        codec: Of states.
    """

    def __init__(self, inner: BaseCheckpointSaver[Any], cross: Cross, now: Now, codec: Codec) -> None:
        super().__init__(serde=inner.serde)
        self._inner, self._cross, self._now, self._codec, self._names = inner, cross, now, codec, codec.names
        self._is_counted = isinstance(inner.get_next_version(None, None), str)

    @property
    def config_specs(self) -> list[Any]:
        return list(self._inner.config_specs)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the version of a channel after another one."""
        if not self._is_counted:
            return self._inner.get_next_version(current, channel)
        return f"{int(str(current or 0).split('.')[0]) + 1:032}.{0:016}"

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        """Read the newest checkpoint of a thread, or the one that is asked for."""

        async def read(_: dict[str, Any]) -> Plain:
            found = await self._inner.aget_tuple(config)
            return None if found is None else self._plain_tuple(found)

        asked = {"key": _key(config)}
        checkpoint_id = config["configurable"].get("checkpoint_id")
        if checkpoint_id:
            asked["checkpoint"] = self._names.alias("checkpoint", checkpoint_id)
        return self._tuple_from(await self._cross("read", asked, read), config)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Write a checkpoint."""
        sent = self._plain_parts(checkpoint, metadata, config["configurable"].get("checkpoint_id"))

        async def write(altered: dict[str, Any]) -> None:
            kept = checkpoint
            if altered["value"] != sent:
                kept = {**checkpoint, "channel_values": self._codec.decode(altered["value"]["channels"])}
            await self._inner.aput(config, kept, metadata, new_versions)

        await self._cross("write", {"key": _key(config), "value": sent}, write)
        return _config_for(config, checkpoint["id"])

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task has done, before its step is over."""
        asked = {
            "key": _key(config),
            "task": self._names.alias("task", task_id),
            # What answers an interrupt is written by the tool that asks, and a replay does not run the tool.
            "writes": [[channel, self._codec.encode(value)] for channel, value in writes if channel != RESUME],
        }
        await self._cross("put_writes", asked, lambda _: self._inner.aput_writes(config, writes, task_id, task_path))

    async def alist(
        self,
        config: Any,
        *,
        filter: Any = None,  # noqa: A002  # LangGraph's name
        before: Any = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Go through the checkpoints of a thread, the newest first."""

        async def history(_: dict[str, Any]) -> Plain:
            found = self._inner.alist(config, filter=filter, before=before, limit=limit)
            return [{**self._plain_tuple(one), **self._place(one.config)} async for one in found]

        asked = {"key": "" if config is None else _key(config), "filter": self._codec.encode(filter), "limit": limit}
        if before is not None:
            asked["before"] = self._names.alias("checkpoint", before["configurable"].get("checkpoint_id"))
        for one in await self._cross("history", asked, history) or ():
            made = self._tuple_from(one, self._config_of(one)) if isinstance(one, Mapping) else None
            if made is not None:
                yield made

    def _config_of(self, told: Mapping[str, Any]) -> Any:
        """Return where a checkpoint of a history belongs: a thread, and the namespace of a graph inside of a graph."""
        parts = [part.partition(":") for part in str(told.get("namespace") or "").split("|")]
        namespace = "|".join(f"{name}{sign}{self._names.id(task) or ''}" for name, sign, task in parts)
        return {"configurable": {"thread_id": told.get("thread", ""), "checkpoint_ns": namespace}}

    def _place(self, config: Any) -> dict[str, Plain]:
        """Return the same as it crosses; ids of the tasks that run the inner graphs are renamed."""
        configurable = config["configurable"]
        parts = [part.partition(":") for part in configurable.get("checkpoint_ns", "").split("|")]
        namespace = "|".join(f"{name}{sign}{self._names.alias('task', task)}" for name, sign, task in parts)
        return {"thread": configurable["thread_id"]} | ({"namespace": namespace} if namespace else {})

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        await self._cross("delete", {"key": thread_id}, lambda _: self._inner.adelete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget what runs have written."""
        runs = [self._names.alias("run", run_id) for run_id in run_ids]
        await self._cross("delete_runs", {"runs": runs}, lambda _: self._inner.adelete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread."""
        asked = {"key": source_thread_id, "to": target_thread_id}
        await self._cross("copy", asked, lambda _: self._inner.acopy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget what is old in threads."""
        asked = {"keys": list(thread_ids), "strategy": strategy}
        await self._cross("prune", asked, lambda _: self._inner.aprune(thread_ids, strategy=strategy))

    def with_allowlist(self, extra_allowlist: Any) -> BaseCheckpointSaver[Any]:
        """Return the same with more classes that may be made again."""
        return DoorSaver(self._inner.with_allowlist(extra_allowlist), self._cross, self._now, self._codec)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found: CheckpointTuple | None = self._now(lambda: self.aget_tuple(config))
        return found

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self._now(lambda: self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        self._now(lambda: self.aput_writes(config, writes, task_id, task_path))

    def list(self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None) -> Iterator[Any]:  # noqa: A002
        async def listed() -> Any:
            return [one async for one in self.alist(config, filter=filter, before=before, limit=limit)]

        yield from self._now(listed)

    def delete_thread(self, thread_id: str) -> None:
        self._now(lambda: self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._now(lambda: self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._now(lambda: self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._now(lambda: self.aprune(thread_ids, strategy=strategy))

    # ------------------------------------------------------------------ as plain data

    def _plain_tuple(self, found: CheckpointTuple) -> dict[str, Plain]:
        parent = None if found.parent_config is None else found.parent_config["configurable"].get("checkpoint_id")
        writes: list[Plain] = [
            [self._names.alias("task", task), channel, self._codec.encode(value)]
            for task, channel, value in found.pending_writes or ()
        ]
        parts = self._plain_parts(found.checkpoint, found.metadata, parent)
        return {**parts, "key": _key(found.config), "pending": writes}

    def _plain_parts(self, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any], parent: Any) -> dict[str, Plain]:
        told = {name: value for name, value in metadata.items() if name in ("source", "step")}
        parents = metadata.get("parents") or {}
        return {
            "id": self._names.alias("checkpoint", checkpoint["id"]),
            "parent": self._names.alias("checkpoint", parent),
            "parents": {place: self._names.alias("checkpoint", given) for place, given in parents.items()},
            "v": checkpoint["v"],
            "channels": self._codec.encode(dict(checkpoint["channel_values"])),
            "versions": self._codec.encode(dict(checkpoint["channel_versions"])),
            "seen": self._codec.encode({name: dict(seen) for name, seen in checkpoint["versions_seen"].items()}),
            "updated": self._codec.encode(checkpoint.get("updated_channels")),
            **told,
        }

    def _tuple_from(self, told: Any, config: Any) -> CheckpointTuple | None:
        if not isinstance(told, Mapping):
            return None
        decode, names = self._codec.decode, self._names
        checkpoint: Any = {
            "v": told["v"],
            "id": names.id(told["id"]),
            "ts": _NO_TIME,
            "channel_values": decode(told["channels"]),
            "channel_versions": decode(told["versions"]),
            "versions_seen": decode(told["seen"]),
            "updated_channels": decode(told["updated"]),
        }
        metadata: Any = {name: told[name] for name in ("source", "step") if name in told}
        metadata["parents"] = {place: names.id(given) for place, given in told["parents"].items()}
        parent = names.id(told["parent"])
        return CheckpointTuple(
            _config_for(config, checkpoint["id"]),
            checkpoint,
            metadata,
            None if parent is None else _config_for(config, parent),
            [(names.id(task) or "", channel, decode(value)) for task, channel, value in told.get("pending", ())],
        )


_NO_TIME = "1970-01-01T00:00:00+00:00"


def _key(config: Any) -> str:
    """Return what a thread is called: its id, and the namespace of a graph inside of a graph."""
    configurable = config["configurable"]
    namespace = "/".join(part.split(":")[0] for part in configurable.get("checkpoint_ns", "").split("|"))
    return f"{configurable['thread_id']}/{namespace}" if namespace else str(configurable["thread_id"])


def _config_for(config: Any, checkpoint_id: str | None) -> Any:
    configurable = config["configurable"]
    return {
        "configurable": {
            "thread_id": configurable["thread_id"],
            "checkpoint_ns": configurable.get("checkpoint_ns", ""),
            "checkpoint_id": checkpoint_id,
        }
    }
