"""Built-in operators, one per file, one package per boundary."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaosagent.faults.operator import Operator

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


def entries() -> dict[str, type[Operator]]:
    """Return every built-in operator by its registry name; the files are imported on the first call."""
    kinds = [_kind(folder, file) for folder, files in _FILES.items() for file in files]
    return {kind.name: kind for kind in kinds}


def _kind(folder: str, file: str) -> type[Operator]:
    module = importlib.import_module(f"chaosagent.operators.{folder}.{file}")
    found: type[Operator] = getattr(module, "".join(word.capitalize() for word in file.split("_")))
    return found
