"""Failures of models: what clients of providers raise, as plain failures and back.

What crosses is a failure of Python or of chaosagent, which a replay can raise again: a `TimeoutError`, a
`ConnectionError`, or a `StatusError`. The agent is raised what its client makes of it, where the model is one of
LangChain's for OpenAI or Anthropic, or is made on such a one: `openai.APITimeoutError` and its like, which are Python's
own, too. From other models exceptions come as they are; name their classes in `errors`.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from chaosagent.adapters.core.client_errors import AS_THEY_ARE, ModelErrors, client_error, crossing_error

CLIENTS = {"langchain_openai": "openai", "langchain_anthropic": "anthropic"}
"""The package of LangChain that has a model, and the package of the client whose exceptions it raises."""


def errors_of(model: Any) -> ModelErrors:
    """Return how failures of a model cross, by the client that its class uses; as they are where that is not known."""
    for kind in type(model).__mro__:
        client = CLIENTS.get(kind.__module__.partition(".")[0])
        if client is not None:
            return _errors_of(client)
    return AS_THEY_ARE


@functools.cache
def _errors_of(name: str) -> ModelErrors:
    try:
        client = import_module(name)
    except ImportError:  # the model is not what it says, or its client has moved
        return AS_THEY_ARE
    timeout = type("ModelTimeout", (client.APITimeoutError, TimeoutError), {})
    unreachable = type("ModelUnreachable", (client.APIConnectionError, ConnectionError), {})
    own = functools.partial(client_error, package=client, timeout=timeout, unreachable=unreachable)
    return ModelErrors(functools.partial(crossing_error, package=client), own)
