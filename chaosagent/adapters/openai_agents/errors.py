"""Failures of models: what the OpenAI client raises, as plain failures and back."""

from __future__ import annotations

import agents
import openai

from chaosagent.adapters.core.client_errors import ModelErrors, client_error, crossing_error
from chaosagent.vocabulary import ServiceFault

_OWN: dict[str, type[Exception]] = {kind.__name__: kind for kind in (agents.ModelBehaviorError, agents.UserError)}


class ModelTimeout(openai.APITimeoutError, TimeoutError):  # type: ignore[misc]  # untyped where the extra is missing
    """A model took too long: the OpenAI client's exception and Python's."""


class ModelUnreachable(openai.APIConnectionError, ConnectionError):  # type: ignore[misc]  # as above
    """A connection to a model failed: the OpenAI client's exception and Python's."""


def as_plain_error(error: Exception) -> Exception:
    """Return a failure of a model as it crosses, so that a replay can raise the same."""
    if type(error).__name__ in _OWN:
        return ServiceFault(f"{type(error).__name__}: {error}")
    return crossing_error(error, openai)


def as_sdk_error(error: Exception) -> Exception:
    """Return a failure of a model as the OpenAI client would have raised it, so that retries and handlers know it."""
    name, _, message = str(error).partition(": ")
    if isinstance(error, ServiceFault) and name in _OWN:
        return _OWN[name](message)
    return client_error(error, openai, timeout=ModelTimeout, unreachable=ModelUnreachable)


ERRORS = ModelErrors(as_plain_error, as_sdk_error)
