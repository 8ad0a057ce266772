"""Models of the OpenAI Agents SDK behind doors."""

from __future__ import annotations

import copy
import functools
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

from agents import Model, ModelProvider, RunConfig
from agents.models.default_models import get_default_model

from chaosagent.adapters.openai_agents.answers import collect_answer, events_of


class Asking(Protocol):
    """What a model needs of the doors of its run."""

    provider: Any

    async def ask(self, model: str, agent: str, call: Mapping[str, Any], handler: Callable[[Any], Any]) -> Any: ...


class NamedModel(str):
    """The name of a model that also says which agent has it; to the SDK it is the name."""

    given: str | None
    agent: str

    def __new__(cls, given: str | None, agent: str) -> NamedModel:
        made = super().__new__(cls, get_default_model() if given is None else given)
        made.given, made.agent = given, agent
        return made


class DoorProvider(ModelProvider):  # type: ignore[misc]  # untyped where the extra is missing
    """Gives models behind doors.

    Args:
        doors: Of the run.
    """

    def __init__(self, doors: Asking) -> None:
        self._doors = doors

    def get_model(self, model_name: str | None) -> Any:
        """Return the model of a name."""
        given = model_name.given if isinstance(model_name, NamedModel) else model_name
        agent = model_name.agent if isinstance(model_name, NamedModel) else ""
        name = str(model_name) if model_name is not None else get_default_model()
        return DoorModel(self._doors, functools.partial(self._doors.provider.get_model, given), name, agent)

    async def aclose(self) -> None:
        """Close the provider behind it."""
        await self._doors.provider.aclose()


class DoorModel(Model):  # type: ignore[misc]  # untyped where the extra is missing
    """A model behind a door.

    Args:
        doors: Of the run.
        model: The model itself, or what makes it; in a replay nobody asks for it.
        name: Of the model.
        agent: Who asks it.
    """

    def __init__(self, doors: Asking, model: Any, name: str, agent: str) -> None:
        self._doors, self._name, self._agent = doors, name, agent
        self._given, self._made = model, model if isinstance(model, Model) else None

    def model(self) -> Any:
        """Return the model itself."""
        if self._made is None:
            self._made = self._given()
        return self._made

    async def get_response(self, *positional: Any, **named: Any) -> Any:
        """Ask the model."""
        call = {**dict(zip(_ASKED, positional, strict=False)), **named}
        return await self._doors.ask(self._name, self._agent, call, lambda asked: self.model().get_response(**asked))

    async def stream_response(self, *positional: Any, **named: Any) -> AsyncIterator[Any]:
        """Ask the model; the whole answer crosses, then the agent is streamed its parts."""
        call = {**dict(zip(_ASKED, positional, strict=False)), **named}
        response = await self._doors.ask(
            self._name, self._agent, call, lambda asked: collect_answer(self.model().stream_response(**asked))
        )
        for event in events_of(response):
            yield event

    def get_retry_advice(self, request: Any) -> Any:
        """Return what the model says of a failure; nothing where there is no model, as in a replay."""
        return None if self._made is None else self._made.get_retry_advice(request)

    async def close(self) -> None:
        """Close the model."""
        if self._made is not None:
            await self._made.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        if self._made is not None:
            await self._made._cleanup_on_run_end(owner)


_ASKED = (
    "system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs", "tracing",
)  # fmt: skip


def config_of(doors: Asking, config: RunConfig, *, sdk_tracing: bool) -> RunConfig:
    """Return a configuration of a run whose models are behind doors."""
    made = copy.copy(config)
    made.model_provider = DoorProvider(doors)
    if isinstance(config.model, Model):
        made.model = DoorModel(doors, config.model, model_name(config.model), "")
    made.tracing_disabled = config.tracing_disabled or not sdk_tracing
    return made


def model_name(model: Any) -> str:
    """Return the name of a model, of its class where it has none."""
    name = getattr(model, "model", None)
    return str(name) if isinstance(name, str) and name else type(model).__name__
