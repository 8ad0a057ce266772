"""h_t = Obs(r_t) of Eq. 9: what an adversary at the boundaries of a target sees of a run.

It sees what is asked of which interface, and of answers their kind and size; of its own injections, what and where. It
sees nothing of the target's state, of what the target makes of an answer, of monitors and of verdicts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from chaosagent.canonical import unpack
from chaosagent.faults.dry import RecordedCrossing, unpack_response
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, Place
from chaosagent.vocabulary import Boundary

RECENT = 4
"""Of how many of the last answers the failures are counted."""

EXACT_MAX = 32
"""Sizes up to here are seen as they are, larger ones as the power of two above them; in bytes."""


class Observation(NamedTuple):
    """What is seen at the moment when something is asked of an interface.

    Attributes:
        place: Where.
        boundary: The class of the interface.
        operation: What is asked.
        request_size: Of the request.
        rank: How many crossings were asked before.
        heard_from: The interface that has answered last, empty before the first answer.
        heard: Kind and size of that answer, such as `"map 17"` or `"failure timeout"`.
        failures: How many of the last answers were failures.
        injected: Interface and operator of the last injection, empty before the first.
        since: How many crossings were asked since that.
    """

    place: Place
    boundary: Boundary
    operation: str
    request_size: int
    rank: int = 0
    heard_from: str = ""
    heard: str = ""
    failures: int = 0
    injected: str = ""
    since: int = 0


class Observer:
    """Observes one run, told of asks and answers in the order in which they act."""

    def __init__(self) -> None:
        self._rank = 0
        self._heard_from = self._heard = self._injected = ""
        self._injected_at = 0
        self._recent: deque[bool] = deque(maxlen=RECENT)

    def ask(self, place: Place, boundary: Boundary, request: bytes) -> Observation:
        """Note a crossing that is asked, and return what is seen at this moment.

        Args:
            place: Where.
            boundary: The class of the interface.
            request: Canonical bytes of operation and arguments.
        """
        operation = cast("list[str]", unpack(request))[0]
        seen = Observation(
            place,
            boundary,
            operation,
            visible_size(request),
            self._rank,
            self._heard_from,
            self._heard,
            sum(self._recent),
            self._injected,
            self._rank - self._injected_at if self._injected else 0,
        )
        self._rank += 1
        return seen

    def inject(self, injection: Injection) -> None:
        """Note what was chosen at the crossing that was asked last."""
        self._injected = f"{injection.hook.interface} {injection.operator_name}"
        self._injected_at = self._rank - 1

    def hear(self, interface: str, response: bytes) -> None:
        """Note an answer of the world that no injection has disturbed."""
        kind = _kind(response)
        self._heard_from, self._heard = interface, kind
        self._recent.append(kind.startswith("failure"))


def observations_of(evaluation: Evaluation) -> Iterator[tuple[Observation, Injection | None]]:
    """Yield what was seen at each crossing of an executed run, and what its schedule injected there."""
    by_place = injected_in(evaluation)
    observer = Observer()
    for crossing, is_answer in acts_of(evaluation):
        place = crossing.place
        chosen = by_place.get(place)
        if is_answer:
            if chosen is None:
                observer.hear(place.interface, crossing.response)
            continue
        seen = observer.ask(place, crossing.boundary, crossing.request)
        if chosen is not None:
            observer.inject(chosen)
        yield seen, chosen


def acts_of(evaluation: Evaluation) -> list[tuple[RecordedCrossing, bool]]:
    """Return the asks and the answers of a run in the order in which they acted, with whether it is an answer."""
    acts = [(crossing.asked, False, crossing) for crossing in evaluation.crossings]
    acts += [(crossing.answered, True, crossing) for crossing in evaluation.crossings if crossing.answered >= 0]
    acts.sort(key=lambda act: act[0])
    return [(crossing, is_answer) for _, is_answer, crossing in acts]


def injected_in(evaluation: Evaluation) -> Mapping[Place, Injection]:
    """Return what the schedule of a run injected, by the place that was reached."""
    injections = evaluation.schedule.injections
    if not injections:
        return {}
    return {
        crossing.place: injection
        for crossing in evaluation.crossings
        for injection in injections
        if injection.hook.matches(crossing.place)
    }


def visible_size(data: bytes) -> int:
    """Return the size of some bytes as far as it is seen."""
    return len(data) if len(data) <= EXACT_MAX else 1 << (len(data) - 1).bit_length()


def _kind(response: bytes) -> str:
    """Return kind and size of an answer; by its first bytes, as reading all of a large one would take long."""
    first = response[1]
    if first == 0xC0 and len(response) > 3:  # no value, and something in its place
        failure = unpack_response(response).failure
        return f"failure {failure.kind}" if failure is not None else "nothing"
    for name, heads in _HEADS.items():
        if first in heads:
            return f"{name} {visible_size(response)}"
    return f"number {visible_size(response)}"


_HEADS: Mapping[str, frozenset[int]] = {
    "map": frozenset({*range(0x80, 0x90), 0xDE, 0xDF}),
    "list": frozenset({*range(0x90, 0xA0), 0xDC, 0xDD}),
    "text": frozenset({*range(0xA0, 0xC0), 0xD9, 0xDA, 0xDB}),
    "nothing": frozenset({0xC0}),
    "flag": frozenset({0xC2, 0xC3}),
    "bytes": frozenset({0xC4, 0xC5, 0xC6}),
}
"""First bytes of a value's canonical bytes (msgpack), by its kind."""
