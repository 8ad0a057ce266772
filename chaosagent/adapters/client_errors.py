"""Failures of model clients as they cross, and back into the classes of the client in use.

AutoGen and smolagents have none of their own: their clients for OpenAI and Anthropic raise what those packages raise.
A replay record keeps plain failures. So what a client raised crosses as a time-out, a broken connection or an error
with a status, and the agent is raised the client's own exception for it, also where it was injected. Other clients get
Python's exceptions and `chaosagent.StatusError`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from chaosagent.vocabulary import StatusError

_PACKAGES = {
    "autogen_ext.models.openai": "openai",
    "autogen_ext.models.anthropic": "anthropic",
    "openai": "openai",
    "anthropic": "anthropic",
}
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


def package_of(client: object) -> ModuleType | None:
    """Return the package whose exceptions a model client raises; `None` for one that nobody here knows."""
    for kind in type(client).__mro__:
        for prefix, package in _PACKAGES.items():
            if kind.__module__ == prefix or kind.__module__.startswith(f"{prefix}."):
                return sys.modules.get(package)
    return None


def crossing_error(error: Exception, package: ModuleType | None) -> Exception:
    """Return what crosses in the place of an exception that a model client raised."""
    if package is None:
        return error
    if isinstance(error, package.APITimeoutError):
        return TimeoutError(str(error))
    if isinstance(error, package.APIConnectionError):
        return ConnectionError(str(error))
    if isinstance(error, package.APIStatusError):
        return StatusError(error.status_code, error.message, _retry_after(error))
    return error


def client_error(error: Exception, package: ModuleType | None) -> Exception:
    """Return a failure as the model client would have raised it; the failure itself where that is not known."""
    if package is None or not isinstance(error, TimeoutError | ConnectionError | StatusError):
        return error
    client = _http_of(package)
    request = client.Request("POST", _NOWHERE)
    if isinstance(error, TimeoutError):
        return _made(package, "APITimeoutError", request=request)
    if isinstance(error, ConnectionError):
        return _made(package, "APIConnectionError", message=str(error) or "Connection error.", request=request)
    headers = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
    response = client.Response(error.status, headers=headers, request=request)
    name = _STATUS.get(error.status, "InternalServerError" if error.status >= 500 else "APIStatusError")
    return _made(package, name, error.message or f"status {error.status}", response=response, body=None)


def _http_of(package: ModuleType) -> Any:
    """Return the HTTP client of a package, whichever it was built with: its exceptions hold requests of that one."""
    exceptions = sys.modules[f"{package.__name__}._exceptions"]
    return getattr(exceptions, "httpx2", None) or exceptions.httpx


def _made(package: ModuleType, name: str, *args: Any, **facts: Any) -> Exception:
    made: Exception = getattr(package, name)(*args, **facts)
    return made


def _retry_after(error: Any) -> float | None:
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
