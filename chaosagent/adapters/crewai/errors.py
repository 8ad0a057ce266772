"""Failures of models: what CrewAI's clients raise, as plain failures and back.

What crosses is a failure of Python or of chaosagent. The crew is raised what its client makes of it: an error with a
status is the OpenAI client's class of that status, which CrewAI's retries and its users know. A time-out is a
`TimeoutError` of a model of one's own; CrewAI's own client for OpenAI tells it as a `ConnectionError`, like a broken
connection, so there it is one here, too.
"""

from __future__ import annotations

from typing import Any

import openai
from crewai.utilities.exceptions.context_window_exceeding_exception import LLMContextLengthExceededError

from chaosagent.adapters.core.client_errors import crossing_error, retry_after, status_error
from chaosagent.vocabulary import ServiceFault, StatusError

_TOLD_AS_CONNECTION = "crewai.llms.providers.openai"
_TOO_LONG = f"{LLMContextLengthExceededError.__name__}: "


def as_plain_error(error: Exception) -> Exception:
    """Return a failure of a model as it crosses, so that a replay can raise the same."""
    if isinstance(error, LLMContextLengthExceededError):
        return ServiceFault(f"{_TOO_LONG}{error.original_error_message}")
    status = getattr(error, "status_code", None)  # also of other clients than that of OpenAI
    if isinstance(status, int) and 400 <= status < 600:
        return StatusError(status, str(getattr(error, "message", error)), retry_after(error))
    return crossing_error(error, openai)


def as_client_error(error: Exception, model: type[Any]) -> Exception:
    """Return a failure of a model as its client would have raised it.

    Args:
        error: What crossed.
        model: The class of the model.
    """
    if isinstance(error, StatusError):
        return status_error(error, openai)
    if isinstance(error, ServiceFault) and str(error).startswith(_TOO_LONG):
        return _as_exception(LLMContextLengthExceededError(str(error).removeprefix(_TOO_LONG)))
    if isinstance(error, TimeoutError) and any(one.__module__.startswith(_TOLD_AS_CONNECTION) for one in model.mro()):
        return ConnectionError(f"Failed to connect to OpenAI API: {str(error) or 'Request timed out.'}")
    return error


def _as_exception(error: Any) -> Exception:
    assert isinstance(error, Exception)
    return error
