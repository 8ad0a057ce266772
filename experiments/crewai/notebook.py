"""Where the crew's memory keeps what it remembers, as CrewAI lets one bring it, and how it finds it again."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from crewai.memory.types import ScopeInfo
from crewai.memory.unified_memory import Memory

from chaosagent.experiments.crewai.models import MemoryModel

_DIMENSIONS = 64


def embedded(texts: list[str]) -> list[list[float]]:
    """Return vectors of texts: which words are in them."""
    return [_vector(re.findall(r"[\w-]+", text.lower())) for text in texts]


def open_memory() -> Memory:
    """Return a memory that remembers nothing yet."""
    return Memory(llm=MemoryModel(model="memory-model"), storage=Notebook(), embedder=embedded)


@dataclass(slots=True)
class Notebook:
    """A storage of CrewAI's memory, with what the crew asks of one; see `crewai.memory.storage.backend`.

    Attributes:
        records: By id, in the order of writing.
    """

    records: dict[str, Any] = field(default_factory=dict)

    def save(self, records: list[Any]) -> None:
        """Keep records."""
        self.records |= {record.id: record for record in records}

    def search(self, query_embedding: list[float], limit: int = 10, **_: Any) -> list[tuple[Any, float]]:
        """Return the records that are nearest."""
        found = [(one, _similarity(query_embedding, one.embedding or [])) for one in self.records.values()]
        return sorted(found, key=lambda pair: -pair[1])[:limit]

    def update(self, record: Any) -> None:
        """Keep another version of a record."""
        self.records[record.id] = record

    def get_record(self, record_id: str) -> Any:
        """Return a record, if there is one."""
        return self.records.get(record_id)

    def delete(self, record_ids: list[str] | None = None, **_: Any) -> int:
        """Forget records."""
        return sum(self.records.pop(one, None) is not None for one in record_ids or ())

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the parts of the memory: it has one."""
        return [parent]

    def list_categories(self, **_: Any) -> dict[str, int]:
        """Return how often each category is used."""
        return dict(Counter(category for record in self.records.values() for category in record.categories))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return how much there is."""
        return ScopeInfo(path=scope, record_count=len(self.records))


def _vector(words: list[str]) -> list[float]:
    vector = [0.0] * _DIMENSIONS
    for word in words:
        vector[zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
    return vector


def _similarity(one: list[float], other: list[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=False)) / size if size else 0.0
