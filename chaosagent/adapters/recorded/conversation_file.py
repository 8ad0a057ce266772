"""Recorded conversations as a target, described in a file; `chaosagent import` writes one.

    conversations: conversations.jsonl
    effects: {refund: [order, amount]}
    failed_when: "^Error"
    read_only: [get_order]
    egress: [send_mail]
    canaries: [SECRET-1234]
    agent: loop.py:agent

`effects`, `failed_when`, `read_only` and `egress` say of the tools what a file of contracts for `chaosagent check` says
of them, in the same forms. Each conversation is a task. `agent` is left out for the one of
`chaosagent.adapters.recorded.conversation`; yours is given a `LiveConversation` of that module and returns the final
message, or an `Outcome`. Files are looked for in the folder of the description.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from chaosagent.adapters.core.described import STRICT, effects_from, loader_in, validated
from chaosagent.adapters.doors import Tools, refuse_twice
from chaosagent.adapters.recorded.conversation import CONFIGS, RecordedAgent, agent
from chaosagent.adapters.recorded.recording import Conversation, Recording, read_conversations
from chaosagent.effects.failed_when import failed_when_from
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.importable import make_importable
from chaosagent.targets.references import load_object
from chaosagent.targets.target import Target, target
from chaosagent.vocabulary import Labels, SystemConfig, Task
from chaosagent.yaml_file import Located

CONVERSATIONS = "conversations"


class _Strict(BaseModel):
    model_config = STRICT


class _Config(_Strict):
    name: str
    settings: dict[str, Any] = {}


class _ConversationFile(_Strict):
    conversations: Annotated[str, Field(min_length=1)]
    effects: dict[str, Any] = {}
    failed_when: Any = None
    read_only: list[str] = []
    egress: list[str] = []
    canaries: list[str] = []
    forbidden: list[str] = []
    secrets: list[str] = []
    agent: str = ""
    configs: list[_Config] = []
    name: str = ""


def load_conversations(located: Located, file: Path, where: str = "") -> Target:
    """Return the target that a description of recorded conversations describes.

    Args:
        located: What the file says.
        file: The description.
        where: What messages call the place that names it.

    Raises:
        UsageError: It says what is not allowed, or the conversations cannot be read.
        TargetError: Something that it names cannot be loaded.
    """
    said = validated(located, _ConversationFile, _keys_at, where)
    folder = file.resolve().parent
    make_importable(folder)
    recording = recording_of(folder / said.conversations)
    tools = Tools(
        effects_from(said.effects, folder, str(file)),
        said.read_only,
        egress=said.egress,
        failed_when=failed_when_from(said.failed_when, f"{file}: failed_when", loader_in(folder)),
    )
    try:
        tools.check(recording.tools)
        refuse_twice("tools", recording.tools)
    except ChaosAgentError as error:
        raise UsageError(f"{file}: {error}") from error
    talks: Any = load_object(said.agent, where=f"{file}: agent", folder=folder) if said.agent else agent
    if not callable(talks):
        raise UsageError(f"{file}: agent: {said.agent} is {type(talks).__name__}, not a function.")
    code = (folder / said.agent.rpartition(":")[0],) if said.agent else ()
    runs = RecordedAgent(recording, tools, talks, (file.resolve(), folder / said.conversations, *code))
    labels = Labels(forbidden=tuple(said.forbidden), canaries=tuple(said.canaries))
    tasks = [Task(one.id, {"messages": one.opening}, labels=labels) for one in recording.conversations.values()]
    own = [SystemConfig(config.name, config.settings) for config in said.configs]
    called = said.name or folder.name
    configs = own or ([] if said.agent else CONFIGS)
    return target(name=called, tasks=tasks, configs=configs, secrets=said.secrets)(runs)


def recording_of(path: Path) -> Recording:
    """Return the conversations of a file, each with an id.

    Raises:
        UsageError: The file cannot be read, has no conversation, a broken one, or two with one id.
    """
    found: list[Conversation] = []
    for one in read_conversations(path):
        if isinstance(one, UsageError):
            raise one
        found.append(one)
    if not found:
        raise UsageError(f"{path} has no conversation. Import one: chaosagent import LOGS --out FOLDER.")
    seen: dict[str, Conversation] = {}
    for one in found:
        if not one.id:
            raise UsageError(f"{one.place}: the conversation has no `id`. `chaosagent import` writes one.")
        if one.id in seen:
            raise UsageError(f"{one.place}: the id {one.id!r} was given in {seen[one.id].place} already. Change one.")
        seen[one.id] = one
    return Recording(found)


def _keys_at(_path: tuple[int | str, ...]) -> list[str]:
    return sorted({*_ConversationFile.model_fields} if not _path else _Config.model_fields)
