"""What differs between the study that a folder holds and the one that is to be run in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.studyfile.file import StudyFile, load_study
from chaosagent.yaml_file import quote_value

DIFFERENCES_MAX = 5
WITHOUT_EFFECT = frozenset({"search.seconds", "search.until", "search.speculate", "search.error_share"})
"""Keys that do not make another study: its result does not depend on them."""


def difference_of(study: StudyFile, kept: Path) -> str:
    """Say which keys differ, with the new and the old value of each.

    Args:
        study: What is to be run.
        kept: The study file as the study in the folder was begun.
    """
    try:
        before = _flat(load_study(kept).settings.model_dump())
    except UsageError:
        return "what it was begun with cannot be read"
    now = _flat(study.settings.model_dump())
    found = [
        f"{key}: {quote_value(now.get(key))} instead of {quote_value(before.get(key))}"
        for key in dict.fromkeys((*now, *before))
        if now.get(key) != before.get(key) and key not in WITHOUT_EFFECT
    ]
    if not found:
        return (
            "the study files are the same, so it is the target (its name, tasks or configuration), a contract, an "
            "operator, or chaosagent itself that has changed"
        )
    more = f", ... {len(found) - DIFFERENCES_MAX} more" if len(found) > DIFFERENCES_MAX else ""
    return ", ".join(found[:DIFFERENCES_MAX]) + more


def _flat(settings: Mapping[str, object]) -> dict[str, object]:
    return dict(_entries(settings, ""))


def _entries(settings: Mapping[str, object], before: str) -> Iterator[tuple[str, object]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _entries(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
