"""What an agent is told over HTTP when a door raises."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chaosagent.proxy.parse_json import parse_json
from chaosagent.vocabulary import ActionBlocked, StatusError

CONFLICT, FORBIDDEN, FAILED = 409, 403, 500
RUN_OVER: Mapping[str, str] = {"x-should-retry": "false"}
"""The clients of OpenAI and Anthropic try again after most errors, unless they are told not to."""


class ErrorAnswer(NamedTuple):
    """An error as it is sent.

    Attributes:
        status: Of the response.
        body: JSON.
        headers: Beside the type of the content.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]


def error_answer(error: BaseException, wrap: Callable[[int, str], Mapping[str, Any]]) -> ErrorAnswer | None:
    """Return what is answered for what a door raised.

    Args:
        error: What was raised.
        wrap: Makes a body of status and message, as the API has it.

    Returns:
        `None` for a time-out or a broken connection: nothing is answered, and the proxy hangs up.
    """
    if isinstance(error, StatusError):
        seconds = error.retry_after
        headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}
        return ErrorAnswer(error.status, _body(error.status, error.message, wrap), headers)
    if isinstance(error, TimeoutError | ConnectionError):
        return None
    if isinstance(error, ActionBlocked):
        return ErrorAnswer(FORBIDDEN, _body(FORBIDDEN, f"blocked: {error}", wrap), RUN_OVER)
    if not isinstance(error, Exception):
        return ErrorAnswer(CONFLICT, _body(CONFLICT, f"chaosagent: {error}", wrap), RUN_OVER)
    return ErrorAnswer(FAILED, _body(FAILED, str(error), wrap), {})


def service_error(status: int, message: str) -> Mapping[str, Any]:
    """Return the body of an error that says nothing else."""
    return {"error": message or f"status {status}"}


def _body(status: int, message: str, wrap: Callable[[int, str], Mapping[str, Any]]) -> bytes:
    """Return a body: what the world said as it said it, anything else in the API's form."""
    try:
        known = parse_json(message)
    except ValueError:
        known = None
    body = known if isinstance(known, dict) else wrap(status, message)
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
