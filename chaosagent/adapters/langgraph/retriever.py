"""LangChain's retrievers behind doors."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from chaosagent.adapters.langgraph.plain import Codec
from chaosagent.canonical import Plain


class DoorRetriever(BaseRetriever):  # type: ignore[misc]  # LangChain is not in every checkout
    """A retriever that asks another one through a door.

    A document crosses as `id`, `text` and, where there is some, `metadata`. Ids that are UUIDs have names by first
    appearance, as stores draw them; a document without an id is called after its place.

    Attributes:
        inner: The retriever.
        cross: Takes a query, and the way to ask the retriever itself, through the door.
        now: Runs something asynchronous where the caller is not.
        apart: Runs a plain function where it does not hold up the loop.
        codec: Of metadata.
    """

    inner: Any
    cross: Callable[[dict[str, Any], Callable[[dict[str, Any]], Any]], Awaitable[Any]]
    now: Callable[[Callable[[], Awaitable[Any]]], Any]
    apart: Callable[[Callable[[], Any]], Awaitable[Any]]
    codec: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **options: Any) -> list[Document]:
        manager = run_manager.get_child()
        found: list[Document] = self.now(lambda: self._asked(query, manager, options, native=False))
        return found

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **options: Any) -> list[Document]:
        native = type(self.inner)._aget_relevant_documents is not BaseRetriever._aget_relevant_documents
        manager = run_manager.get_child() if native else run_manager.get_sync().get_child()
        return await self._asked(query, manager, options, native=native)

    async def _asked(self, query: str, manager: Any, options: dict[str, Any], *, native: bool) -> list[Document]:
        async def search(altered: dict[str, Any]) -> list[Plain]:
            wanted, config = str(altered.get("query", query)), {"callbacks": manager}
            if native:
                found = await self.inner.ainvoke(wanted, config, **options)
            else:
                found = await self.apart(lambda: self.inner.invoke(wanted, config, **options))
            return [_plain(document, place, self.codec) for place, document in enumerate(found, 1)]

        told = await self.cross({"query": query}, search)
        return [_document(one, self.codec) for one in told if isinstance(one, Mapping)] if told else []


def _plain(document: Document, place: int, codec: Codec) -> dict[str, Plain]:
    given = document.id or ""
    with contextlib.suppress(ValueError):
        given = codec.names.alias("document", str(uuid.UUID(given)))
    told: dict[str, Plain] = {"id": given or f"document-at-{place}", "text": document.page_content}
    if document.metadata:
        told["metadata"] = codec.encode(document.metadata)
    return told


def _document(told: Mapping[str, Any], codec: Codec) -> Document:
    metadata = codec.decode(told.get("metadata") or {})
    given = str(told.get("id") or "")
    known = codec.names.known(given)
    return Document(str(told.get("text") or ""), id=known or given or None, metadata=metadata)
