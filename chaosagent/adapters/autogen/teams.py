"""Teams of AutoGen: copies that begin anew, and what a team makes of the failure of one of its agents."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.conditions import ExternalTermination
from autogen_agentchat.messages import StopMessage
from autogen_agentchat.teams._group_chat._events import GroupChatTermination, SerializableException
from autogen_core import SingleThreadedAgentRuntime

from chaosagent.adapters.autogen.memory import with_own_messages
from chaosagent.errors import TargetError

_TRACE = "\nTraceback:\n"


def copied_team(team: Any, participants: Sequence[Any]) -> Any:
    """Return a team of other participants with a runtime, a queue and conditions of its own, in which nothing was said.

    Raises:
        TargetError: It has a runtime of somebody else's, in which there can be one such team only.
    """
    if not team._embedded_runtime:
        raise TargetError(
            f"the team {team.name!r} was made with runtime=..., which all runs would share. Leave it out: each run "
            "then has one of its own."
        )
    made = copy.copy(team)
    made._participants = list(participants)
    made._runtime = SingleThreadedAgentRuntime(ignore_unhandled_exceptions=False)
    made._output_message_queue = asyncio.Queue()
    made._initialized = made._is_running = False
    made._termination_condition = _copied(team._termination_condition)
    if getattr(team, "_model_context", None) is not None:
        made._model_context = with_own_messages(team._model_context)
    return made


def without_trace(error: RuntimeError) -> RuntimeError:
    """Return what a team raises, without the lines of source in its text: an exact replay gets there by other ones."""
    text, mark, _ = str(error).partition(_TRACE)
    return RuntimeError(text) if mark else error


def stop(team: Any, ended: BaseException) -> None:
    """Wake a team whose agent was ended by its run: the framework itself would wait for an answer for ever."""
    if team._is_running:
        error = SerializableException(error_type=type(ended).__name__, error_message=str(ended))
        over = StopMessage(content="The run is over.", source=team.name)
        team._output_message_queue.put_nowait(GroupChatTermination(message=over, error=error))


def _copied(condition: Any) -> Any:
    """Return a condition that counts by itself; one that is set from outside stays the one that is set."""
    if condition is None or isinstance(condition, ExternalTermination):
        return condition
    made = copy.copy(condition)
    if hasattr(condition, "_conditions"):
        made._conditions = [_copied(one) for one in condition._conditions]
    return made
