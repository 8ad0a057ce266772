"""Failures of models: what CrewAI's clients raise, as plain failures and back.

What crosses is a failure of Python or of chaosagent. The crew is raised what its client makes of it: an error with a
status is the OpenAI client's class of that status, which CrewAI's retries and its users know. A time-out is a
`TimeoutError` of a model of one's own; CrewAI's own client for OpenAI tells it as a `ConnectionError`, like a broken
connection, so there it is one here, too.
"""

from __future__ import annotations

from typing import Any

import httpx
import openai
from crewai.utilities.exceptions.context_window_exceeding_exception import LLMContextLengthExceededError

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
_TOLD_AS_CONNECTION = "crewai.llms.providers.openai"
_TOO_LONG = f"{LLMContextLengthExceededError.__name__}: "


def as_plain_error(error: Exception) -> Exception:
    """Return a failure of a model as it crosses, so that a replay can raise the same."""
    if isinstance(error, LLMContextLengthExceededError):
        return ServiceFault(f"{_TOO_LONG}{error.original_error_message}")
    if isinstance(error, openai.APITimeoutError):
        return TimeoutError(str(error))
    if isinstance(error, openai.APIConnectionError):
        return ConnectionError(str(error))
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and 400 <= status < 600:
        return StatusError(status, str(getattr(error, "message", error)), _retry_after(error))
    return error


def as_client_error(error: Exception, model: type[Any]) -> Exception:
    """Return a failure of a model as its client would have raised it.

    Args:
        error: What crossed.
        model: The class of the model.
    """
    if isinstance(error, StatusError):
        headers = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
        response = httpx.Response(error.status, headers=headers, request=httpx.Request("POST", _NOWHERE))
        kind = _STATUS.get(error.status, openai.InternalServerError if error.status >= 500 else openai.APIStatusError)
        made: Exception = kind(error.message or f"status {error.status}", response=response, body=None)
        return made
    if isinstance(error, ServiceFault) and str(error).startswith(_TOO_LONG):
        return _as_exception(LLMContextLengthExceededError(str(error).removeprefix(_TOO_LONG)))
    if isinstance(error, TimeoutError) and any(one.__module__.startswith(_TOLD_AS_CONNECTION) for one in model.mro()):
        return ConnectionError(f"Failed to connect to OpenAI API: {str(error) or 'Request timed out.'}")
    return error


def _as_exception(error: Any) -> Exception:
    assert isinstance(error, Exception)
    return error


def _retry_after(error: Exception) -> float | None:
    try:
        return float(error.response.headers["retry-after"])  # type: ignore[attr-defined]  # of those that have one
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
