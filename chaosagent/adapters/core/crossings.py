"""The crossings of one run for an adapter: models, tools, lists of tools and hand-overs, with all that belongs to each.

Beside the door itself that is: who acts, provenance, exceptions that a replay cannot make again, and doors of
synchronous targets, whose answers need not be awaited.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from chaosagent.adapters.core.client_errors import AS_THEY_ARE, ModelErrors
from chaosagent.adapters.core.provenance import DERIVED, Provenance
from chaosagent.adapters.core.toolbox import Toolbox
from chaosagent.adapters.core.translated import translate_exceptions
from chaosagent.adapters.core.validation import ValidationFailure, own_validation_errors, validation_errors
from chaosagent.adapters.doors import FrameworkDoors, Tools, await_answer
from chaosagent.targets.call_handler import Handler
from chaosagent.targets.target import Run

HANDOFFS = "handoffs"
"""The channel of hand-overs from agent to agent."""


class Crossings:
    """The crossings of one run.

    Args:
        run: The run.
        tools: What is known about the tools.
        errors: The framework's exception classes that tools raise on purpose and a replay can make again.
        asked_relation: How the answer of a tool is linked to the answer of the model that asked for it.

    Attributes:
        doors: The doors themselves; for memories and retrievers.
        provenance: Links answers of models and tools.
        toolbox: The descriptions of tools that agents get.
    """

    def __init__(
        self, run: Run, tools: Tools, errors: tuple[type[Exception], ...] = (), *, asked_relation: str = DERIVED
    ) -> None:
        self.run = run
        self.doors = FrameworkDoors(run, tools.raising(ValidationFailure, *errors))
        self.provenance = Provenance(run, asked_relation=asked_relation)
        self.toolbox = Toolbox(self.doors)

    def of_one_agent(self) -> Crossings:
        """Return crossings through the same doors with provenance and a toolbox of their own.

        For a framework that begins each run of an agent anew, where ids of calls may come again.
        """
        made = copy.copy(self)
        made.provenance, made.toolbox = self.provenance.renewed(), Toolbox(self.doors)
        return made

    def acting(self, agent: str) -> AbstractContextManager[None]:
        """Name who acts inside a `with` block; an empty name stands for nobody in particular."""
        return self.doors.acting(agent)

    async def model(
        self, name: str, request: Mapping[str, Any], ask: Handler, *, errors: ModelErrors = AS_THEY_ARE, call: str = ""
    ) -> Any:
        """Ask a model through its door, inside of `acting`; declare its provenance in the same block.

        Args:
            name: Of the model.
            request: Plain data: `messages`, and what else the answer depends on.
            ask: Asks the model itself; see `FrameworkDoors.model`.
            errors: How failures of the model cross, and what the agent is raised for them.
            call: Identifies the logical call within the run, if the framework retries below the agent.

        Returns:
            The answer that crossed, whatever was done to it.
        """

        async def crossing(given: dict[str, Any]) -> Any:
            with translate_exceptions(errors.crossing):
                return await await_answer(ask(given))

        with translate_exceptions(errors.own):
            return await await_answer(self.doors.model(name, request, crossing, call=call))

    async def tool(
        self,
        agent: str,
        name: str,
        arguments: Mapping[str, Any],
        handler: Handler,
        *,
        call_id: str = "",
        asked_in: str = "",
        call: str = "",
    ) -> Any:
        """Call a tool through its door.

        Args:
            agent: Who calls it.
            name: Of the tool.
            arguments: Plain data.
            handler: Calls the tool itself; see `FrameworkDoors.tool`.
            call_id: The id of the call, by which the model asked for it.
            asked_in: The id of the message that asked, where the framework has one; see `Provenance`.
            call: Identifies the logical call within the run, if the framework retries below the agent.
        """
        with self.doors.acting(agent):
            with own_validation_errors():
                told = await await_answer(self.doors.tool(name, arguments, validation_errors(handler), call=call))
            self.provenance.of_tool(agent, call_id, asked_in)
        return told

    async def hand_over(
        self,
        agent: str,
        to: str,
        body: Any,
        deliver: Handler,
        *,
        channel: str = HANDOFFS,
        call_id: str = "",
        asked_in: str = "",
        call: str = "",
    ) -> Any:
        """Hand something over to another agent through a channel.

        Args:
            agent: Who hands over.
            to: To whom.
            body: What.
            deliver: Takes `to` and `body` to the other agent, and returns its answer; see also `meant_for`.
            channel: The name of the door.
            call_id: The id of the call, if a tool hands over.
            asked_in: See `tool`.
            call: See `tool`.
        """
        with self.doors.acting(agent):
            with own_validation_errors():
                told = await await_answer(self.doors.message(channel, to, body, validation_errors(deliver), call=call))
            self.provenance.of_tool(agent, call_id, asked_in)
        return told


def meant_for(to: str, handler: Handler) -> Handler:
    """Return what delivers a body to one agent, and refuses one that an injection has addressed to another."""

    async def deliver(given: dict[str, Any]) -> Any:
        if given.get("to") != to:
            raise LookupError(f"{given.get('to')} does not take what is meant for {to}")
        return await await_answer(handler(given["body"]))

    return deliver
