"""Dry application: what an operator would do to a recorded crossing, without a run (the ground of rule R2)."""

from __future__ import annotations

import enum
import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf
from typing import ClassVar, NamedTuple, NoReturn, cast

from chaosagent.canonical import Plain, pack, unpack
from chaosagent.errors import UsageError
from chaosagent.faults.crossing import HISTORY_MAX, Exchange, Proceed, Request, Response, Toxic
from chaosagent.faults.injection import Place
from chaosagent.faults.operator import Operator
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


class Deviation(enum.Enum):
    """The first moment at which an operator does anything but pass on request and answer, at once and unchanged.

    Until then its injection has no effect, so rule R1 orders injections by this moment. It is found by applying the
    operator, never by asking the operator what it declares.
    """

    ASK = "when the agent asks"
    ANSWER = "when the world has answered for the first time"
    NEVER = "never"
    UNCLEAR = "at the one or the other"

    def position(self, asked: int, answered: int) -> int:
        """Return the position of the deviation.

        Args:
            asked: Position of the ask; -1 if the deviation cannot lie there.
            answered: Position of the first answer; -1 if there is none, or the deviation cannot lie there.

        Returns:
            -1 if there is none; of an unclear one, the earliest possible.
        """
        if self is Deviation.ASK:
            return asked
        if self is Deviation.UNCLEAR and asked >= 0:
            return asked
        return answered


class DryOutcome(NamedTuple):
    """What an operator would do to a recorded crossing.

    Attributes:
        kind: How much is known. Nothing may be pruned on `UNPREDICTABLE`.
        key: Equal keys of `KNOWN` or `REQUEST_CHANGED` outcomes mean: the agent sees the same, at the same time, and
            the same was done to the world. Empty when unpredictable.
        deviation: When the operator begins to act, as far as the crossing shows it; `ANSWER` at a crossing that was
            never answered means that it did not come to that.
        reads_history: The operator looked at the history of the interface, so that the outcome depends on it.
    """

    kind: DryKind
    key: bytes = b""
    deviation: Deviation = Deviation.UNCLEAR
    reads_history: bool = False

    @property
    def no_op(self) -> bool:
        """Whether it is known that nothing changes."""
        return self.deviation is Deviation.NEVER


class RecordedHistory:
    """What was asked and answered through one interface of a run.

    Args:
        crossings: All of them, in any order.
    """

    def __init__(self, crossings: Iterable[RecordedCrossing]) -> None:
        crossings = tuple(crossings)
        self._answered = sorted((one for one in crossings if one.answered >= 0), key=lambda one: one.answered)
        self._positions = [one.answered for one in self._answered]
        self._unclear_from = min((one.asked for one in crossings if one.history_unclear), default=inf)

    def before(self, now: int) -> Sequence[RecordedCrossing] | None:
        """Return the last crossings that were answered before a position, in that order; `None` where it is unclear."""
        if self._unclear_from < now:
            return None
        end = bisect_left(self._positions, now)
        return self._answered[max(0, end - HISTORY_MAX) : end]


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


def earlier_answer(history: Sequence[Exchange], request: Request, now: bytes) -> Response | None:
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
    history: RecordedHistory | Iterable[RecordedCrossing],
    seed: int,
    *,
    history_matters: bool = True,
) -> DryOutcome:
    """Apply an operator to a recorded crossing.

    Args:
        operator: With its parameters.
        recorded: The crossing, as an executed run had it.
        history: All crossings of that run through the same interface; made once where many operators are applied.
        seed: Of that run.
        history_matters: Some operator of the space reads history, so that whether a read reached the world matters too.

    Returns:
        What would happen, as far as it can be known without a run. The deviation is exact: the operator is applied to
        what the crossing really had, and its first deviation depends on nothing else.
    """
    crossing = _DryCrossing.applied = _DryCrossing(recorded, history, seed)
    response: object = None
    is_over = False
    try:
        work = operator.apply(crossing, crossing.proceed)
        work.send(None)
    except StopIteration as stop:
        response, is_over = stop.value, True
    except KeyboardInterrupt:
        raise
    except BaseException:  # not recorded, or a plug-in's mistake: the run itself will tell
        pass
    else:
        work.close()  # it waits for something else than its crossing, which a run refuses
    if is_over and not crossing.is_unknown:
        return _outcome(crossing, response, recorded, history_matters=history_matters)
    return DryOutcome(DryKind.UNPREDICTABLE, b"", crossing.deviation, crossing.reads_history)


def _outcome(
    crossing: _DryCrossing, response: object, recorded: RecordedCrossing, *, history_matters: bool
) -> DryOutcome:
    """Return what an operator has done that came to its end on a recorded crossing."""
    deviation, reads_history = crossing.deviation, crossing.reads_history
    is_once = crossing.executed <= 1 and not (crossing.is_repeated or crossing.is_deferred or crossing.is_held_up)
    if response is crossing.untouched:
        if is_once and not (crossing.executed or crossing.sleeps):
            return DryOutcome(DryKind.REQUEST_CHANGED, pack(("request", crossing.changed)), deviation, reads_history)
        return DryOutcome(DryKind.UNPREDICTABLE, b"", deviation, reads_history)
    if not isinstance(response, Response):
        deviation = Deviation.ANSWER if crossing.executed and deviation is Deviation.UNCLEAR else deviation
        return DryOutcome(DryKind.UNPREDICTABLE, b"", deviation, reads_history)
    try:
        packed = pack_response(response)
    except UsageError:  # the run itself will tell
        return DryOutcome(DryKind.UNPREDICTABLE, b"", deviation, reads_history)
    if deviation is Deviation.UNCLEAR:  # until now it has done nothing but ask the world, once and unchanged
        is_same = crossing.executed and packed == recorded.response
        deviation = Deviation.NEVER if is_same else Deviation.ANSWER if crossing.executed else Deviation.ASK
    if not is_once or crossing.changed is not None:
        return DryOutcome(DryKind.UNPREDICTABLE, b"", deviation, reads_history)
    executed = -1 if is_interchangeable(recorded, history_matters=history_matters) else crossing.executed
    arrives = recorded.answered_at if crossing.executed else recorded.asked_at
    return DryOutcome(DryKind.KNOWN, pack((executed, packed, arrives, crossing.sleeps)), deviation, reads_history)


def is_interchangeable(recorded: RecordedCrossing, *, history_matters: bool) -> bool:
    """Whether it makes no difference if the world is asked at all, as long as the agent is told the same.

    Args:
        recorded: The crossing, as an executed run had it.
        history_matters: Some operator of the space reads history, so that a read that never was is missed later.
    """
    # A world that calls another door answers at once in a synchronous target, but it does not act alone.
    undisturbed = recorded.at_once and recorded.alone and recorded.answered >= 0
    return recorded.read_only and undisturbed and not history_matters


class _Unknown(BaseException):
    """What is not recorded; not an `Exception`, so that no operator swallows it."""


class _Untouched:
    """Stands for the answer to a request that was never made: whoever hands it on unseen hands on any answer."""

    __slots__ = ("_crossing",)

    def __init__(self, crossing: _DryCrossing) -> None:
        object.__setattr__(self, "_crossing", crossing)

    def __getattribute__(self, name: str) -> NoReturn:
        raise object.__getattribute__(self, "_crossing").unknown()

    def _look(self, *_: object) -> NoReturn:
        raise object.__getattribute__(self, "_crossing").unknown()

    __eq__ = __ne__ = __iter__ = __len__ = __getitem__ = __bool__ = __hash__ = __repr__ = __str__ = _look


def note_strange_use() -> None:
    """Note that the operator which is applied dry uses a crossing that it has kept: nobody knows what it would do."""
    if _DryCrossing.applied is not None:
        _DryCrossing.applied.is_unknown = True


class _DryCrossing:
    """Plays a recorded crossing to an operator.

    Attributes:
        executed: How often the world was asked as it was in the run.
        changed: Canonical bytes of another request that it was asked, the last one.
        untouched: Stands for the answer to that.
        deviation: The first deviation so far; `UNCLEAR` while there was none.
        sleeps: How long the operator has waited, each time; also for no time, as others may act meanwhile.
        is_held_up: It waited before it asked the world.
        is_repeated: It asked the world for something else more than once.
        is_deferred: Something is to reach the world later.
        is_unknown: It looked at something that is not recorded.
        reads_history: It looked at the history of the interface.
    """

    applied: ClassVar[_DryCrossing | None] = None  # the latest: an operator may have kept another

    def __init__(
        self, recorded: RecordedCrossing, history: RecordedHistory | Iterable[RecordedCrossing], seed: int
    ) -> None:
        self._recorded, self._history, self._seed = recorded, history, seed
        self.boundary, self.interface = recorded.boundary, recorded.place.interface
        self.agent, self.read_only = recorded.place.agent, recorded.read_only
        self.request = unpack_request(recorded.request)
        self.executed = 0
        self.changed: bytes | None = None
        self.untouched = _Untouched(self)
        self.deviation = Deviation.UNCLEAR
        self.sleeps: list[float] = []
        self.is_held_up = self.is_repeated = self.is_deferred = self.is_unknown = self.reads_history = False

    def unknown(self) -> _Unknown:
        """Note that something is not recorded, and return what is raised."""
        self.is_unknown = True
        return _Unknown()

    def _deviate(self) -> None:
        if self.deviation is Deviation.UNCLEAR:
            self.deviation = Deviation.ANSWER if self.executed else Deviation.ASK

    @property
    def rng(self) -> random.Random:
        return operator_rng(self._seed, self._recorded.place)

    @property
    def history(self) -> list[Exchange]:
        self.reads_history = True
        if self.sleeps and not self.executed:
            raise self.unknown()  # others may have been answered while it waited
        now = self._recorded.answered if self.executed else self._recorded.asked
        if not isinstance(self._history, RecordedHistory):
            self._history = RecordedHistory(self._history)
        seen = self._history.before(now)
        if seen is None:
            raise self.unknown()
        return [Exchange(unpack_request(crossing.request), unpack_response(crossing.response)) for crossing in seen]

    def earlier(self) -> Response | None:
        if self._recorded.earlier:
            return unpack_response(self._recorded.earlier)
        return earlier_answer(self.history, self.request, self._recorded.response if self.executed else b"")

    async def sleep(self, seconds: float) -> None:
        self._deviate()
        self.sleeps.append(seconds)

    def defer(self, seconds: float, proceed: Proceed, request: Request) -> None:  # noqa: ARG002  # the protocol's
        self._deviate()
        self.is_deferred = True

    def disturbed(self, toxic: Toxic) -> NoReturn:  # noqa: ARG002  # the protocol's
        """Give up: nobody can tell what comes of a disturbed connection."""
        self._deviate()
        raise self.unknown()

    async def proceed(self, request: Request) -> Response:
        if self is not _DryCrossing.applied:
            note_strange_use()
        packed = pack_request(request)
        is_changed = packed != self._recorded.request
        if is_changed or self.executed or self.changed is not None:
            self._deviate()
        self.is_held_up = self.is_held_up or bool(self.sleeps)
        if is_changed:
            self.is_repeated = self.is_repeated or self.changed is not None
            self.changed = packed
            return cast(Response, self.untouched)
        if self._recorded.answered < 0:
            if self.deviation is Deviation.UNCLEAR:
                self.deviation = Deviation.ANSWER  # it waits for an answer that never came
            raise self.unknown()
        self.executed += 1
        return unpack_response(self._recorded.response)
