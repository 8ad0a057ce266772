"""Failures of models: what clients of providers raise, as plain failures and back.

What crosses is a failure of Python or of chaosagent, which a replay can raise again: a `TimeoutError`, a
`ConnectionError`, or a `StatusError`. The agent is raised what its client makes of it, where the model is one of
LangChain's for OpenAI or Anthropic, or is made on such a one: `openai.APITimeoutError` and its like, which are Python's
own, too. From other models exceptions come as they are; name their classes in `errors`.
"""

from __future__ import annotations

import functools
from importlib import import_module
from types import ModuleType
from typing import Any

from chaosagent.adapters.core.client_errors import client_error, crossing_error

CLIENTS = {"langchain_openai": "openai", "langchain_anthropic": "anthropic"}
"""The package of LangChain that has a model, and the package of the client whose exceptions it raises."""


class ClientErrors:
    """The exceptions of one client.

    Args:
        client: The package of the client.
    """

    def __init__(self, client: ModuleType) -> None:
        self._client = client
        self._timeout = type("ModelTimeout", (client.APITimeoutError, TimeoutError), {})
        self._unreachable = type("ModelUnreachable", (client.APIConnectionError, ConnectionError), {})

    def plain(self, error: Exception) -> Exception:
        """Return a failure as it crosses; another one as it is."""
        return crossing_error(error, self._client)

    def own(self, error: Exception) -> Exception:
        """Return what crossed as the client would have raised it, so that retries and handlers know it."""
        return client_error(error, self._client, timeout=self._timeout, unreachable=self._unreachable)


def client_errors(model: Any) -> ClientErrors | None:
    """Return the exceptions of the client that a model uses, as far as its class tells; `None` otherwise."""
    for kind in type(model).__mro__:
        client = CLIENTS.get(kind.__module__.partition(".")[0])
        if client is not None:
            return _errors_of(client)
    return None


@functools.cache
def _errors_of(client: str) -> ClientErrors | None:
    try:
        return ClientErrors(import_module(client))
    except ImportError:  # the model is not what it says, or its client has moved
        return None
