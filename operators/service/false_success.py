"""A service says that it has done what it has not done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Request, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.fields import fields, with_values


@dataclass(frozen=True, slots=True)
class FalseSuccess(OperatorDefaults):
    """A gateway takes the request, says that all is well, and loses it: nothing is committed.

    The answer looks like the last good one to the same operation, with what this request says in place of what that one
    said. Without such an answer it is what was asked, with `"ok": true`. Operations that the target declares read-only
    are untouched. The other way round, committed and told that it failed, is `service.error_status(when=after)`.
    """

    name = "service.false_success"
    reads_history = True
    by_default = False
    description = "the service says that it has acted; it has not"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if crossing.read_only:
            return await proceed(crossing.request)
        return Response(_success(crossing.request, crossing.history))


def _success(request: Request, history: Sequence[Exchange]) -> Plain:
    for earlier in reversed(history):
        if earlier.request.operation == request.operation and earlier.response.failure is None:
            return _adapted(earlier, request)
    return {**request.arguments, "ok": True}


def _adapted(earlier: Exchange, request: Request) -> Plain:
    """Return an earlier answer with the arguments of now where it repeats those of then under their names."""
    then, now, value = earlier.request.arguments, request.arguments, earlier.response.value
    changes = {
        field.path: now[field.name]
        for field in fields(value)
        if field.name in then and field.name in now and then[field.name] == field.value
    }
    return with_values(value, changes)
