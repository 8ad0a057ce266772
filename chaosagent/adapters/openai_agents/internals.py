"""What the doors need of the OpenAI Agents SDK that it does not promise, in one place.

There is no public way to put a function around a tool's own within its handling of failures, or to know which agent a
hand-off or a tool leads to before it is called. A version of the SDK that has something of this no more is refused with
its number, before anything runs.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
from functools import cache
from typing import Any

from chaosagent.errors import UsageError

PACKAGE = "openai-agents"

FIELDS = {
    "FunctionTool": ("_agent_instance",),
    "Handoff": ("_agent_ref",),
}
"""Fields of classes of `agents`."""

FUNCTIONS = ("set_function_tool_failure_error_function", "with_function_tool_failure_error_handler")
"""Functions of `agents.tool`."""


@cache
def check_internals() -> None:
    """Refuse a version of the SDK that lacks something of this.

    Raises:
        UsageError: It does; with what is missing.
    """
    missing = missing_internals()
    if missing:
        raise UsageError(
            f"{PACKAGE} {importlib.metadata.version(PACKAGE)} has no {', '.join(missing)}, which the doors of "
            "chaosagent use. Install a version that has: `pip install 'chaosagent[openai-agents]'` in a fresh "
            "environment, or an older one."
        )


def missing_internals() -> list[str]:
    """Return what the installed SDK lacks."""
    import agents
    import agents.tool

    missing = [f"agents.tool.{name}" for name in FUNCTIONS if not callable(getattr(agents.tool, name, None))]
    for name, names in FIELDS.items():
        kind: Any = getattr(agents, name, None)
        known = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
        missing += [f"{name}.{field}" for field in names if field not in known]
    return missing
