"""Built-in operators, one per file, one package per boundary."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaosagent.faults.operator import Operator

__all__ = ["entries", "memory", "message", "model", "network", "prompt", "retrieval", "service", "tools"]

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.operators":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.operators`. "
        "The folder operators/ just keeps its files. Write `import chaosagent.operators`, "
        "after `pip install -e .` in the checkout."
    )

_FILES: Mapping[str, tuple[str, ...]] = {
    "memory": (
        "cross_session_leak",
        "late_write",
        "lost_update",
        "reorder",
        "stale_read",
        "truncate",
        "untrusted_note",
    ),
    "message": (
        "corrupted",
        "drop",
        "duplicate",
        "misaddressed",
        "partition",
        "reorder",
    ),
    "model": (
        "confabulated_success",
        "empty",
        "hallucinated_argument",
        "malformed_tool_call",
        "refusal",
        "repeated_turn",
        "slow",
        "truncated_stream",
        "wrong_tool",
    ),
    "network": (
        "bandwidth",
        "down",
        "jitter",
        "latency",
        "limit_data",
        "reset_peer",
        "slicer",
        "slow_close",
        "timeout",
    ),
    "prompt": (
        "ambiguity",
        "distractor",
        "dropout",
        "noise",
        "paraphrase",
        "payload",
        "reorder",
        "splice",
        "synonym",
        "truncation",
    ),
    "retrieval": (
        "distractor",
        "drop_top",
        "empty",
        "perturb_ranking",
        "poisoned_passage",
        "stale_index",
        "truncate",
    ),
    "service": (
        "delay",
        "dropped_response",
        "duplicate_delivery",
        "error_status",
        "false_success",
        "field_corruption",
        "late_duplicate",
        "lost_response",
        "metadata_change",
        "partial_page",
        "partial_response",
        "pending",
        "schema_mismatch",
        "stale_response",
        "timeout",
        "wrong_unit",
    ),
    "tools": (
        "misleading",
        "missing",
        "poisoned",
        "reordered",
    ),
}
"""The files by folder; the class in `late_write.py` is `LateWrite`."""


class _Kinds(Mapping[str, "type[Operator]"]):
    """The classes by name; a file is imported when its class is asked for, as few runs need more than some."""

    def __init__(self) -> None:
        self._names = {f"{folder}.{file}": file for folder, files in _FILES.items() for file in files}

    def __getitem__(self, name: str) -> type[Operator]:
        title = "".join(word.capitalize() for word in self._names[name].split("_"))
        found: type[Operator] = getattr(importlib.import_module(f"chaosagent.operators.{name}"), title)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def entries() -> Mapping[str, type[Operator]]:
    """Return every built-in operator by its registry name; a file is imported on the first look at its class."""
    return _Kinds()
