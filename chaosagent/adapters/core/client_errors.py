"""Failures of model clients as they cross, and back into the classes of the client in use.

Frameworks have few of their own: their clients for OpenAI and Anthropic raise what those packages raise. A replay
record keeps plain failures. So what a client raised crosses as a time-out, a broken connection or an error with a
status, and the agent is raised the client's own exception for it, also where it was injected. Other clients get
Python's exceptions and `chaosagent.StatusError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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


@dataclass(frozen=True, slots=True)
class ModelErrors:
    """How failures of one model cross.

    Attributes:
        crossing: Returns what crosses in the place of an exception that the model raised, or the exception itself.
        own: Returns what the agent is raised for an exception that crossed, or the exception itself.
    """

    crossing: Callable[[Exception], Exception]
    own: Callable[[Exception], Exception]


def as_it_is(error: Exception) -> Exception:
    """Return an exception as it is."""
    return error


AS_THEY_ARE = ModelErrors(as_it_is, as_it_is)


def errors_of(client: object) -> ModelErrors:
    """Return how failures of a model client cross, by its class; as they are for a client that nobody here knows."""
    package = package_of(client)
    return ModelErrors(partial(crossing_error, package=package), partial(client_error, package=package))


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
        return StatusError(error.status_code, error.message, retry_after(error))
    return error


def client_error(
    error: Exception,
    package: ModuleType | None,
    *,
    timeout: type[Exception] | None = None,
    unreachable: type[Exception] | None = None,
) -> Exception:
    """Return a failure as the model client would have raised it; the failure itself where that is not known.

    Args:
        error: What crossed.
        package: The package of the client; `None` for one that nobody here knows.
        timeout: What is raised for a time-out; the package's own class where it is not given.
        unreachable: The same for a connection that breaks.
    """
    if package is None or not isinstance(error, TimeoutError | ConnectionError | StatusError):
        return error
    if isinstance(error, StatusError):
        return status_error(error, package)
    request = _http_of(package).Request("POST", _NOWHERE)
    if isinstance(error, TimeoutError):
        return _made(timeout or package.APITimeoutError, request=request)
    kind = unreachable or package.APIConnectionError
    return _made(kind, message=str(error) or "Connection error.", request=request)


def status_error(error: StatusError, package: ModuleType) -> Exception:
    """Return the exception that a package has for a status."""
    http = _http_of(package)
    headers = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
    response = http.Response(error.status, headers=headers, request=http.Request("POST", _NOWHERE))
    name = _STATUS.get(error.status, "InternalServerError" if error.status >= 500 else "APIStatusError")
    return _made(getattr(package, name), error.message or f"status {error.status}", response=response, body=None)


def retry_after(error: object) -> float | None:
    """Return after how many seconds a provider wants to be asked again; `None` where an exception does not say it."""
    try:
        return float(error.response.headers["retry-after"])  # type: ignore[attr-defined]  # of those that have one
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _http_of(package: ModuleType) -> Any:
    """Return the HTTP client of a package, whichever it was built with: its exceptions hold requests of that one."""
    exceptions = sys.modules[f"{package.__name__}._exceptions"]
    return getattr(exceptions, "httpx2", None) or exceptions.httpx


def _made(kind: Callable[..., Exception], *args: object, **facts: object) -> Exception:
    return kind(*args, **facts)
