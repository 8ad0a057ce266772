"""Failures of models: what the OpenAI client raises, as plain failures and back."""

from __future__ import annotations

from typing import Any

import agents
import httpx2
import openai

from chaosagent.vocabulary import ServiceFault, StatusError

_NOWHERE = "https://model.invalid/"
_STATUS: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
}
_OWN = {kind.__name__: kind for kind in (agents.ModelBehaviorError, agents.UserError)}


class ModelTimeout(openai.APITimeoutError, TimeoutError):  # type: ignore[misc]  # untyped where the extra is missing
    """A model took too long: the OpenAI client's exception and Python's."""


class ModelUnreachable(openai.APIConnectionError, ConnectionError):  # type: ignore[misc]  # as above
    """A connection to a model failed: the OpenAI client's exception and Python's."""


def as_plain_error(error: Exception) -> Exception:
    """Return a failure of a model as it crosses, so that a replay can raise the same."""
    if isinstance(error, openai.APITimeoutError):
        return TimeoutError(str(error))
    if isinstance(error, openai.APIConnectionError):
        return ConnectionError(str(error))
    if isinstance(error, openai.APIStatusError):
        return StatusError(error.status_code, error.message, _retry_after(error))
    if type(error).__name__ in _OWN:
        return ServiceFault(f"{type(error).__name__}: {error}")
    return error


def as_sdk_error(error: Exception) -> Exception:
    """Return a failure of a model as the OpenAI client would have raised it, so that retries and handlers know it."""
    request = httpx2.Request("POST", _NOWHERE)
    if isinstance(error, TimeoutError):
        return _made(ModelTimeout, request=request)
    if isinstance(error, ConnectionError):
        return _made(ModelUnreachable, message=str(error) or "Connection error.", request=request)
    if isinstance(error, StatusError):
        headers = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
        response = httpx2.Response(error.status, headers=headers, request=request)
        kind = _STATUS.get(error.status, openai.InternalServerError if error.status >= 500 else openai.APIStatusError)
        return _made(kind, error.message or f"status {error.status}", response=response, body=None)
    name, _, message = str(error).partition(": ")
    return _OWN[name](message) if isinstance(error, ServiceFault) and name in _OWN else error


def _made(kind: type[Exception], *args: Any, **facts: Any) -> Exception:
    return kind(*args, **facts)


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
