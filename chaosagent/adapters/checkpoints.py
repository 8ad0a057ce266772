"""Checkpoints in front of every request to a model: for rule R3, without a line in the agent.

An agent that a framework runs is a loop that keeps everything in the messages it gives its model. So at the moment when
a model is about to be asked, the rest of the run depends on that request, on conversations that wait for this one, and
on the world. The doors see the first two; the user says what the world is:

    doors = through_doors(run, ...)
    doors.take_checkpoints(shop.dump)

The doors of LangGraph, OpenAI Agents and pydantic-ai have it. What AutoGen, CrewAI and smolagents keep between two
requests their adapters do not see as a whole, so their doors do not offer it.

Where two runs are equal there, rule R3 searches on in one of them only. That is sound as long as:

* What is said of the world holds everything behind the doors that may still matter, and all that the program around the
  agents keeps from one conversation to the next: sessions and stores, variables, contexts of runs. How many
  conversations each agent has begun is known, so that a counter of them need not be in it.
* The framework keeps nothing between two requests to a model but what the second one is given, beside what its adapter
  adds: the state of the graph in LangGraph, the counts of retries and use in pydantic-ai.
* Conversations of one agent do not take turns: one is over when the next one begins.

A study executes a sample of what the rule leaves out; where that contradicts, the rule is given up and the certificate
demoted. No checkpoint is taken inside of a hand-over that waits for its answer, while calls are pending, or in real
time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from chaosagent.canonical import Plain, digest_of, plain
from chaosagent.errors import TargetError
from chaosagent.targets.target import Run

MESSAGES = "messages"


World: TypeAlias = Callable[[], Plain]
"""Returns the state of the world, such as a dump of the database; changes nothing and reaches no door."""


@dataclass(slots=True)
class _Conversation:
    """What a model was given last, and what its agent was told since.

    Attributes:
        number: Of the agent's conversations, from 1.
        messages: The digest of each.
        requests: How often the model was asked.
        since: Digests of what was delivered, in order.
    """

    number: int
    messages: list[str] = field(default_factory=list)
    requests: int = 0
    since: list[str] = field(default_factory=list)

    def plain(self) -> list[Plain]:
        return [self.number, cast(Plain, self.messages), self.requests, cast(Plain, self.since)]


class Course:
    """What the doors of a run have seen so far, as far as the rest of the run depends on it.

    Only the target itself is seen, not what goes on behind a door: once that has answered, all of it is in the answer.

    Args:
        run: The run.
        world: What the user says of the world.
        clock_matters: The rest of the run depends on the time; if not, a delay leaves nothing behind.
    """

    def __init__(self, run: Run, world: World, *, clock_matters: bool = True) -> None:
        self._run, self._world, self._clock_matters = run, world, clock_matters
        self._conversations: dict[str, _Conversation] = {}
        self._listed: dict[str, str] = {}

    def ask(self, model: str, agent: str, request: Mapping[str, Any], kept: Plain) -> None:
        """Take a checkpoint: a model is about to be asked.

        Args:
            model: Its name.
            agent: Who asks.
            request: As it crosses.
            kept: What the framework and its adapter keep beside it.

        Raises:
            TargetError: The state of the world cannot be told.
        """
        self._go_on(agent, [digest_of(plain(message)) for message in request.get(MESSAGES) or ()])
        rest = digest_of(plain({name: value for name, value in request.items() if name != MESSAGES}))
        held = {name: conversation.plain() for name, conversation in self._conversations.items()}
        listed = cast(Plain, dict(self._listed))
        state: list[Plain] = [agent, rest, cast(Plain, held), listed, self._state(), kept]
        self._run.checkpoint(f"model:{model}", state, clock_matters=self._clock_matters)

    def delivered(self, interface: str, agent: str, ask: Callable[[], Any]) -> Any:
        """Call a door and remember what the agent is told, once it is; raises what it is told instead."""
        try:
            answer = ask()
        except Exception as error:
            self._keep(interface, agent, [type(error).__name__, str(error)])
            raise
        if hasattr(answer, "__await__"):
            return self._delivered(interface, agent, answer)
        self._keep(interface, agent, answer)
        return answer

    async def _delivered(self, interface: str, agent: str, answer: Any) -> Any:
        try:
            told = await answer
        except Exception as error:
            self._keep(interface, agent, [type(error).__name__, str(error)])
            raise
        self._keep(interface, agent, told)
        return told

    def _keep(self, interface: str, agent: str, told: Plain) -> None:
        conversation = self._conversations.get(agent)
        if interface.startswith("tools:"):  # an agent goes on to show it to its model, whatever is in its messages
            self._listed[f"{interface}@{agent}"] = digest_of(told)
        elif conversation is not None:
            conversation.since.append(digest_of(told))

    def _go_on(self, agent: str, messages: list[str]) -> None:
        """Go on with an agent's conversation, or begin one where a request does not go on with it."""
        known = self._conversations.get(agent)
        if known is None or messages[: len(known.messages)] != known.messages:
            known = self._conversations[agent] = _Conversation(1 if known is None else known.number + 1)
        known.requests += 1
        if len(messages) > len(known.messages):  # otherwise something below the agent asks again, and counts
            known.since.clear()
        known.messages = messages

    def _state(self) -> Plain:
        try:
            return plain(self._world())
        except Exception as error:  # the user's mistake must not look like an answer of the world
            raise TargetError(
                f"take_checkpoints(world): {type(error).__name__}: {error}. It must return the state of the world as "
                "plain data, at any time."
            ) from error
