"""Dry application: what an operator would do to a recorded crossing, without a run (the ground of rule R2)."""

from __future__ import annotations

import enum
import random
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, cast

from chaosagent.canonical import Plain, pack, unpack
from chaosagent.faults.crossing import HISTORY_MAX, Exchange, Proceed, Request, Response, Toxic
from chaosagent.faults.injection import Place
from chaosagent.faults.operator import Operator, Phase
from chaosagent.seeds import derive
from chaosagent.vocabulary import Boundary, Failure


class RecordedCrossing(NamedTuple):
    """One crossing of an executed run, as far as dry application and search need it.

    Attributes:
        place: Where.
        boundary: The class of the interface.
        request: Canonical bytes of operation and arguments, after mediation.
        response: Canonical bytes of what the world answered, empty when it never did.
        earlier: Canonical bytes of what a cache would still hold, empty when the interface declares nothing.
        asked: Position of the ask among everything that acted in the run.
        answered: Position of the world's answer, -1 when there was none.
        asked_at: Virtual seconds.
        answered_at: Virtual seconds.
        read_only: The interface declares that the operation changes nothing.
        alone: Nothing else acted between ask and answer.
        history_unclear: The world was asked again here, or later, so that the history of the interface holds answers
            that are not recorded.
        at_once: The world answered without waiting, so that nothing at all could act between ask and answer.
    """

    place: Place
    boundary: Boundary
    request: bytes
    response: bytes
    earlier: bytes
    asked: int
    answered: int
    asked_at: float
    answered_at: float
    read_only: bool
    alone: bool
    history_unclear: bool = False
    at_once: bool = False


class DryKind(enum.Enum):
    """How much dry application can tell."""

    KNOWN = "known"
    REQUEST_CHANGED = "request changed"
    UNPREDICTABLE = "unpredictable"


class DryOutcome(NamedTuple):
    """What an operator would do to a recorded crossing.

    Attributes:
        kind: How much is known. Nothing may be pruned on `UNPREDICTABLE`.
        key: Equal keys of `KNOWN` or `REQUEST_CHANGED` outcomes mean: the agent sees the same, at the same time, and
            the same was done to the world. Empty when unpredictable.
        no_op: It is known that nothing changes.
    """

    kind: DryKind
    key: bytes = b""
    no_op: bool = False


UNPREDICTABLE = DryOutcome(DryKind.UNPREDICTABLE)


def pack_request(request: Request) -> bytes:
    """Return the canonical bytes of a request."""
    return pack((request.operation, request.arguments))


def unpack_request(data: bytes) -> Request:
    """Return the request behind canonical bytes."""
    operation, arguments = cast("list[Plain]", unpack(data))
    return Request(cast(str, operation), cast("dict[str, Plain]", arguments))


def pack_response(response: Response) -> bytes:
    """Return the canonical bytes of a response."""
    failure = response.failure
    return pack((response.value, None if failure is None else tuple(failure)))


def unpack_response(data: bytes) -> Response:
    """Return the response behind canonical bytes."""
    value, packed = cast("list[Plain]", unpack(data))
    if packed is None:
        return Response(value)
    failure = Failure(*cast("tuple[str, str]", packed))
    return Response(value, failure._replace(args=tuple(failure.args)))


def earlier_in(history: Sequence[Exchange], request: Request, now: bytes) -> Response | None:
    """Return the last answer to the same request in a history that differs from the present one.

    Args:
        history: Earlier exchanges, oldest first.
        request: What is asked.
        now: Canonical bytes of the present answer, empty before the world has answered.
    """
    for exchange in reversed(history):
        same = exchange.request == request and exchange.response.failure is None
        if same and pack_response(exchange.response) != now:
            return exchange.response
    return None


def operator_rng(seed: int, place: Place) -> random.Random:
    """Return the random stream that an operator draws from at a place."""
    return derive(seed, "operator", str(place))


def apply_dry(
    operator: Operator,
    recorded: RecordedCrossing,
    history: Sequence[RecordedCrossing],
    seed: int,
    *,
    history_matters: bool = True,
) -> DryOutcome:
    """Apply an operator to a recorded crossing.

    Args:
        operator: With its parameters.
        recorded: The crossing, as an executed run had it.
        history: All crossings of that run through the same interface.
        seed: Of that run.
        history_matters: Some operator of the space reads history, so that whether a read reached the world matters too.

    Returns:
        What would happen, as far as it can be known without a run.
    """
    crossing = _DryCrossing(recorded, history, seed)
    work = operator.apply(crossing, crossing.proceed)
    try:
        work.send(None)
    except StopIteration as stop:
        response: Response = stop.value
    except _RequestChanged as changed:
        if operator.phase is not Phase.BEFORE or crossing.sleeps:
            return UNPREDICTABLE
        return DryOutcome(DryKind.REQUEST_CHANGED, pack(("request", pack_request(changed.request))))
    except Exception:  # a plug-in's mistake, or a history that is not recorded: the run itself will tell
        return UNPREDICTABLE
    else:
        work.close()
        return UNPREDICTABLE
    if crossing.executed > 1 or crossing.deferred or crossing.slept_before_call or not isinstance(response, Response):
        return UNPREDICTABLE
    if crossing.executed and operator.phase is not Phase.AFTER and not recorded.alone:
        return UNPREDICTABLE
    packed = pack_response(response)
    executed = -1 if is_interchangeable(recorded, history_matters=history_matters) else crossing.executed
    arrives = recorded.answered_at if crossing.executed else recorded.asked_at
    no_op = bool(crossing.executed) and not crossing.sleeps and packed == recorded.response
    return DryOutcome(DryKind.KNOWN, pack((executed, packed, arrives, crossing.sleeps)), no_op)


def is_interchangeable(recorded: RecordedCrossing, *, history_matters: bool) -> bool:
    """Whether it makes no difference if the world is asked at all, as long as the agent is told the same.

    Args:
        recorded: The crossing, as an executed run had it.
        history_matters: Some operator of the space reads history, so that a read that never was is missed later.
    """
    # A world that calls another door answers at once in a synchronous target, but it does not act alone.
    undisturbed = recorded.at_once and recorded.alone and recorded.answered >= 0
    return recorded.read_only and undisturbed and not history_matters


class _RequestChanged(Exception):
    def __init__(self, request: Request) -> None:
        self.request = request


class _Unknown(Exception):
    """What the world would have answered is not recorded."""


class _DryCrossing:
    """Plays a recorded crossing to an operator."""

    def __init__(self, recorded: RecordedCrossing, history: Sequence[RecordedCrossing], seed: int) -> None:
        self._recorded, self._crossings, self._seed = recorded, history, seed
        self.boundary, self.interface = recorded.boundary, recorded.place.interface
        self.agent, self.read_only = recorded.place.agent, recorded.read_only
        self.request = unpack_request(recorded.request)
        self.executed = 0
        self.sleeps: list[float] = []  # also those of no time: others may act meanwhile
        self.slept_before_call = False
        self.deferred = False

    @property
    def rng(self) -> random.Random:
        return operator_rng(self._seed, self._recorded.place)

    @property
    def history(self) -> list[Exchange]:
        now = self._recorded.answered if self.executed else self._recorded.asked
        if any(crossing.history_unclear and crossing.asked < now for crossing in self._crossings):
            raise _Unknown
        seen = [crossing for crossing in self._crossings if 0 <= crossing.answered < now]
        seen.sort(key=lambda crossing: crossing.answered)
        return [
            Exchange(unpack_request(crossing.request), unpack_response(crossing.response))
            for crossing in seen[-HISTORY_MAX:]
        ]

    def earlier(self) -> Response | None:
        if self._recorded.earlier:
            return unpack_response(self._recorded.earlier)
        return earlier_in(self.history, self.request, self._recorded.response if self.executed else b"")

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)

    def defer(self, seconds: float, proceed: Proceed, request: Request) -> None:  # noqa: ARG002  # the protocol's
        self.deferred = True

    def disturbed(self, toxic: Toxic) -> NoReturn:  # noqa: ARG002  # the protocol's
        """What comes of a disturbed connection nobody can tell."""
        raise _Unknown

    async def proceed(self, request: Request) -> Response:
        if pack_request(request) != self._recorded.request:
            raise _RequestChanged(request)
        if self._recorded.answered < 0:
            raise _Unknown
        self.slept_before_call = self.slept_before_call or bool(self.sleeps)
        self.executed += 1
        return unpack_response(self._recorded.response)
