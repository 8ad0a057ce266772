"""Logs of conversations as a folder with a target and a study."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from chaosagent.adapters.core.calls import parsed_arguments
from chaosagent.adapters.recorded.recording import Conversation, read_conversations
from chaosagent.errors import UsageError

LOG, TARGET, STUDY = "conversations.jsonl", "conversations.yaml", "study.yaml"
LEFT_OUT_SHOWN_MAX = 20
_STUDY = """\
# Faults under which the recorded model and tools can still answer, as the model is asked what it was asked before: a
# call comes late, twice, or is tried again. Under most others, the model is asked what was never recorded; such a run
# is inconclusive, and nothing is proved beyond the cheapest one. Leave `operators` out to try them all the same.
target: {target}
operators:
  - service.delay
  - service.timeout
  - service.lost_response
  - service.dropped_response
  - service.duplicate_delivery
  - service.late_duplicate
  - {{operator: service.error_status, status: [429, 503]}}
  - model.slow
"""


class Imported(NamedTuple):
    """What was imported.

    Attributes:
        conversations: In order, each with an id.
        left_out: What could not be used, with its place; all of it.
        written: The files.
    """

    conversations: tuple[Conversation, ...]
    left_out: tuple[str, ...]
    written: tuple[Path, ...]


def import_conversations(logs: Iterable[Path], folder: Path, *, skip_broken: bool = False) -> Imported:
    """Write conversations, the description of a target and a study into a folder.

    Args:
        logs: Files of conversations.
        folder: Is made.
        skip_broken: Leave out what cannot be used.

    Raises:
        UsageError: A log cannot be read or has a broken conversation, there is none at all, or a file of the folder
            exists already.
    """
    written = tuple(folder / name for name in (LOG, TARGET, STUDY))
    for path in written:
        if path.exists():
            raise UsageError(f"{path} exists already, and nothing is overwritten. Name another folder with --out.")
    found: list[Conversation] = []
    left_out: list[str] = []
    listed = list(logs)
    for path in listed:
        for one in read_conversations(path):
            if isinstance(one, Conversation):
                found.append(one)
            elif skip_broken:
                left_out.append(str(one))
            else:
                raise one
    if not found:
        first = f" The first that was left out: {left_out[0]}" if left_out else ""
        raise UsageError(f"{', '.join(map(str, listed))}: no conversation can be used.{first}")
    named = _named(found)
    texts = (_log(named), _target(named), _STUDY.format(target=TARGET))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(written, texts, strict=True):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written to: {error.strerror}. Name another folder.") from error
    return Imported(tuple(named), tuple(left_out), written)


def _named(conversations: Iterable[Conversation]) -> list[Conversation]:
    """Return conversations with ids: their own, the line otherwise, and a number where there are several of one id."""
    found: list[Conversation] = []
    taken: set[str] = set()
    for one in conversations:
        name = id_ = one.id or f"{Path(one.place.file).stem}-{one.place.line}"
        number = 1
        while id_ in taken:
            number += 1
            id_ = f"{name}-{number}"
        taken.add(id_)
        found.append(replace(one, id=id_))
    return found


def _log(conversations: Iterable[Conversation]) -> str:
    lines = ({"id": one.id, "from": str(one.place), "messages": one.given} for one in conversations)
    return "".join(f"{json.dumps(line, ensure_ascii=True)}\n" for line in lines)


def _target(conversations: Sequence[Conversation]) -> str:
    tools: dict[str, dict[str, None]] = {}
    for one in conversations:
        for call in (call for calls in one.calls.values() for call in calls):
            arguments = parsed_arguments(call.arguments)
            tools.setdefault(call.name, {}).update(dict.fromkeys(arguments if isinstance(arguments, dict) else ()))
    listed = "".join(f"#   {json.dumps(name)}: {json.dumps(list(keys))}\n" for name, keys in sorted(tools.items()))
    return f"""\
conversations: {LOG}

# What the tools commit, by the arguments that identify it; without it, no contract on effects finds anything. In the
# same forms as in a file of contracts for `chaosagent check`. These were called, with these arguments:
{listed or "#   none"}
effects: {{}}
read_only: []        # tools that change nothing
# failed_when: "^Error"    # which answers are failed calls
# egress: []         # tools that send what they are given out of the organisation
# agent: loop.py:agent     # your own agent loop, see the README
"""
