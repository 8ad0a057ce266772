"""Targets that a YAML file describes: a command, or recorded conversations."""

from __future__ import annotations

from pathlib import Path

from chaosagent.adapters.command_file import load_command
from chaosagent.adapters.recorded.conversation_file import CONVERSATIONS, load_conversations
from chaosagent.errors import UsageError
from chaosagent.targets.target import Target
from chaosagent.yaml_file import read_yaml


def load_target_file(file: Path, where: str = "") -> Target:
    """Return the target that a file describes.

    Args:
        file: The description.
        where: What messages call the place that names it.

    Raises:
        UsageError: The file cannot be read, or says what is not allowed.
        TargetError: Something that it names cannot be loaded.
    """
    prefix = f"{where}: " if where else ""
    try:
        located = read_yaml(file, "description of a target")
    except UsageError as error:
        raise UsageError(f"{prefix}{error}") from error
    if CONVERSATIONS in located.data:
        return load_conversations(located, file, where)
    if "command" not in located.data:
        raise UsageError(
            f"{prefix}{file} describes no command: it needs a key `command`, such as `node agent.mjs`, or a key "
            f"`{CONVERSATIONS}`, such as `conversations.jsonl`."
        )
    return load_command(located, file, where)
