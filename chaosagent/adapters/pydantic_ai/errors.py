"""Exceptions of pydantic-ai as they cross, and back.

A replay record keeps exceptions of Python and of chaosagent. What a model raises crosses as one of those, and the agent
is always raised what is made of it again: an error with a status as `ModelHTTPError` of its category, a connection that
breaks as `ModelConnectionError`, a time-out as `ModelTimeoutError`. So `FallbackModel` and retries act on an injected
fault as on a real one. Of an HTTP error its status, body as a text, and `retry_after` cross; its headers do not.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import exceptions
from pydantic_ai.conversation_store import ConversationConflict

from chaosagent.canonical import Plain, plain
from chaosagent.errors import UsageError
from chaosagent.vocabulary import StatusError

OWN: tuple[type[Exception], ...] = (
    *(
        kind
        for _, kind in sorted(vars(exceptions).items())
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == exceptions.__name__
    ),
    ConversationConflict,
)
"""The exceptions of pydantic-ai, such as `ModelRetry`, which a tool raises on purpose."""

_BY_NAME = {kind.__name__: kind for kind in OWN}
_MARK = "pydantic_ai."
_CATEGORIES: dict[int, type[Any]] = {
    401: exceptions.ModelAuthenticationError,
    402: exceptions.ModelQuotaExceededError,
    403: exceptions.ModelAuthenticationError,
    404: exceptions.ModelNotFoundError,
    429: exceptions.ModelRateLimitError,
    503: exceptions.ModelUnavailableError,
    529: exceptions.ModelOverloadedError,
}


def crossing_error(error: Exception) -> Exception:
    """Return what crosses in the place of an exception that a model, a store or another agent raised."""
    if isinstance(error, exceptions.ModelHTTPError):
        return StatusError(error.status_code, _text(error.body), error.retry_after)
    if isinstance(error, exceptions.ModelTimeoutError):
        return TimeoutError(str(error))
    if isinstance(error, exceptions.ModelConnectionError):
        return ConnectionError(str(error))
    if _BY_NAME.get(type(error).__name__) is type(error):
        return RuntimeError(f"{_MARK}{type(error).__name__}", str(error), _plain_facts(error))
    return error


def own_error(error: Exception) -> Exception:
    """Return the framework's exception that crossed; another one as it is."""
    args = error.args
    if not isinstance(error, RuntimeError) or len(args) != 3 or not str(args[0]).startswith(_MARK):
        return error
    kind = _BY_NAME.get(str(args[0]).removeprefix(_MARK))
    if kind is None or not isinstance(args[2], dict):
        return error
    made = kind.__new__(kind, args[1])
    made.args = (args[1],)
    vars(made).update(args[2])
    return made


def model_error(error: Exception, model_name: str) -> Exception:
    """Return what a model of that name raises when the answer of its provider is such a failure."""
    if isinstance(error, StatusError):
        status = error.status
        fallback = exceptions.ModelServerError if status >= 500 else exceptions.ModelRequestRejectedError
        made: Exception = exceptions.ModelHTTPError.for_category(
            _CATEGORIES.get(status, fallback),
            status_code=status,
            model_name=model_name,
            body=error.message,
            retry_after=error.retry_after,
        )
        return made
    made = own_error(error)
    if isinstance(error, TimeoutError):
        made = exceptions.ModelTimeoutError(model_name, str(error))
    elif isinstance(error, ConnectionError):
        made = exceptions.ModelConnectionError(model_name, str(error))
    return made


def _text(body: object) -> str:
    """Return what a provider said, as a text."""
    return body if isinstance(body, str) else "" if body is None else json.dumps(body, default=str, sort_keys=True)


def _plain_facts(error: Exception) -> dict[str, Plain]:
    """Return the attributes of an exception that are plain data."""
    found: dict[str, Plain] = {}
    for name, value in sorted(vars(error).items()):
        try:
            found[name] = plain(value)
        except UsageError:
            continue
    return found
