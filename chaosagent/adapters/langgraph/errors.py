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

from chaosagent.vocabulary import StatusError

CLIENTS = {"langchain_openai": "openai", "langchain_anthropic": "anthropic"}
"""The package of LangChain that has a model, and the package of the client whose exceptions it raises."""

_NOWHERE = "https://model.invalid/"
_STATUS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}


class ClientErrors:
    """The exceptions of one client.

    Args:
        client: The package of the client.
    """

    def __init__(self, client: ModuleType) -> None:
        self._client, self._http = client, import_module("httpx2")
        self._timeout = type("ModelTimeout", (client.APITimeoutError, TimeoutError), {})
        self._unreachable = type("ModelUnreachable", (client.APIConnectionError, ConnectionError), {})

    def plain(self, error: Exception) -> Exception:
        """Return a failure as it crosses; another one as it is."""
        client = self._client
        if isinstance(error, client.APITimeoutError):
            return TimeoutError(str(error))
        if isinstance(error, client.APIConnectionError):
            return ConnectionError(str(error))
        if isinstance(error, client.APIStatusError):
            return StatusError(error.status_code, error.message, _retry_after(error))
        return error

    def own(self, error: Exception) -> Exception:
        """Return what crossed as the client would have raised it, so that retries and handlers know it."""
        request = self._http.Request("POST", _NOWHERE)
        made: Exception = error
        if isinstance(error, TimeoutError):
            made = self._timeout(request=request)
        elif isinstance(error, ConnectionError):
            made = self._unreachable(message=str(error) or "Connection error.", request=request)
        elif isinstance(error, StatusError):
            headers = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
            response = self._http.Response(error.status, headers=headers, request=request)
            otherwise = "InternalServerError" if error.status >= 500 else "APIStatusError"
            kind = getattr(self._client, _STATUS.get(error.status, otherwise))
            made = kind(error.message or f"status {error.status}", response=response, body=None)
        return made


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


def _retry_after(error: Any) -> float | None:
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
