"""Dry application: what can be known without a run, and what cannot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Request, Response
from chaosagent.faults.dry import (
    Deviation,
    DryKind,
    DryOutcome,
    RecordedCrossing,
    apply_dry,
    earlier_answer,
    is_interchangeable,
    pack_request,
    pack_response,
    unpack_request,
    unpack_response,
)
from chaosagent.faults.operator import Domain, Operator
from chaosagent.operators.memory.stale_read import StaleRead
from chaosagent.operators.message.reorder import Reorder
from chaosagent.operators.service.delay import Delay
from chaosagent.operators.service.duplicate_delivery import DuplicateDelivery
from chaosagent.operators.service.error_status import ErrorStatus
from chaosagent.operators.service.false_success import FalseSuccess
from chaosagent.operators.service.field_corruption import FieldCorruption
from chaosagent.operators.service.late_duplicate import LateDuplicate
from chaosagent.operators.service.lost_response import LostResponse
from chaosagent.operators.service.partial_response import PartialResponse
from chaosagent.operators.service.stale_response import StaleResponse
from chaosagent.operators.service.timeout import Timeout
from chaosagent.testing.crossings import Sample
from chaosagent.testing.strategies import operators, plain_data
from chaosagent.vocabulary import Boundary, Failure

REQUEST = Request("get_order", {"order_id": "A-1"})
READ = Request("read", {"key": "note"})


def _recorded(*, read_only: bool = False, answer: Plain = "paid") -> RecordedCrossing:
    return Sample(Boundary.SERVICE, REQUEST, Response(answer), read_only=read_only).recorded()[-1]


def _dry(operator: Operator, recorded: RecordedCrossing, *, history_matters: bool = False) -> DryOutcome:
    return apply_dry(operator, recorded, [recorded], seed=0, history_matters=history_matters)


@dataclass(frozen=True, slots=True)
class Redirect:
    """Asks for something else.

    Attributes:
        order: The order asked for.
        keeps_answer: The answer is handed on.
    """

    name: ClassVar[str] = "example/redirect"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}

    order: str
    keeps_answer: bool = True
    magnitude: float = 1.0
    tokens: int = 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Ask for it, and hand on the answer or lose it."""
        response = await proceed(crossing.request._replace(arguments={"order_id": self.order}))
        return response if self.keeps_answer else Response()

    def describe(self) -> str:
        """Say what it does."""
        return f"asks for {self.order}"


Act = Callable[[Crossing, Proceed], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Doing:
    """Does what a function does."""

    name: ClassVar[str] = "example/doing"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}

    act: Act
    magnitude: float = 1.0
    tokens: int = 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Do it; what it returns need not be a response."""
        return await self.act(crossing, proceed)  # type: ignore[return-value]  # the mistake of some

    def describe(self) -> str:
        """Say what it does."""
        return "does it"


OTHER = REQUEST._replace(arguments={"order_id": "A-2"})
THIRD = REQUEST._replace(arguments={"order_id": "A-3"})


async def _waits_and_asks(crossing: Crossing, proceed: Proceed) -> Response:
    await crossing.sleep(1.0)
    return await proceed(REQUEST)


async def _tells_history(crossing: Crossing, proceed: Proceed) -> Response:
    del proceed
    return Response([exchange.response.value for exchange in crossing.history])


async def _asks_and_tells_history(crossing: Crossing, proceed: Proceed) -> Response:
    await proceed(REQUEST)
    return await _tells_history(crossing, proceed)


def _says(value: Plain, *, asks: bool) -> Doing:
    async def say(_: Crossing, proceed: Proceed) -> Response:
        if asks:
            await proceed(REQUEST)
        return Response(value)

    return Doing(say)


@given(plain_data())
def test_requests_and_responses_survive_packing(value: Plain) -> None:
    request = Request("put", {"value": value})

    assert pack_request(unpack_request(pack_request(request))) == pack_request(request)
    assert pack_response(unpack_response(pack_response(Response(value)))) == pack_response(Response(value))


def test_a_failure_survives_packing_with_all_it_says() -> None:
    response = Response(failure=Failure("status", "Too Many Requests", 429, 2.5))

    assert unpack_response(pack_response(response)) == response


@given(operators(Boundary.SERVICE))
def test_dry_application_is_a_function(operator: Operator) -> None:
    assert _dry(operator, _recorded()) == _dry(operator, _recorded())


def test_what_changes_nothing_is_known_to() -> None:
    assert _dry(FieldCorruption(field="nothing"), _recorded()).no_op
    assert _dry(PartialResponse(), _recorded(answer=7)).no_op
    assert not _dry(PartialResponse(), _recorded()).no_op
    assert not _dry(Delay(), _recorded()).no_op
    assert not _dry(LostResponse("before"), _recorded()).no_op


def test_what_looks_the_same_to_the_agent_and_the_world_has_one_key() -> None:
    order: Plain = {"status": "paid"}

    garbled = _dry(FieldCorruption("garbled"), _recorded(answer=order))
    named = _dry(FieldCorruption("garbled", field="status"), _recorded(answer=order))
    lost = _dry(FieldCorruption("null"), _recorded(answer=order))

    assert garbled == named
    assert garbled.key != lost.key
    assert garbled.kind is lost.kind is DryKind.KNOWN


def test_when_an_answer_arrives_makes_a_difference() -> None:
    assert _dry(Delay(5.0), _recorded()).key != _dry(Delay(60.0), _recorded()).key


def test_the_side_of_the_commit_makes_a_difference_except_on_reads() -> None:
    # The world answers later than it is asked, so only failures that come at the same time can look the same.
    at_once = _recorded()._replace(asked_at=1.0, answered_at=1.0, at_once=True)
    before, after = ErrorStatus(when="before"), ErrorStatus(when="after")

    assert _dry(before, at_once).key != _dry(after, at_once).key
    assert _dry(before, at_once._replace(read_only=True)).key == _dry(after, at_once._replace(read_only=True)).key
    waited = at_once._replace(read_only=True, at_once=False)  # others may have acted before it answered
    assert _dry(before, waited).key != _dry(after, waited).key
    with_history = [
        _dry(operator, at_once._replace(read_only=True), history_matters=True).key for operator in (before, after)
    ]
    assert with_history[0] != with_history[1]


def test_a_read_that_asks_another_door_is_not_the_same_as_none() -> None:
    alone = _recorded(read_only=True)._replace(at_once=True, alone=True)

    assert is_interchangeable(alone, history_matters=False)
    assert not is_interchangeable(alone._replace(alone=False), history_matters=False)


def test_a_changed_request_is_known_and_its_answer_is_not() -> None:
    outcome = _dry(Redirect("A-2"), _recorded())

    assert outcome.kind is DryKind.REQUEST_CHANGED
    assert outcome == _dry(Redirect("A-2"), _recorded())
    assert outcome.key != _dry(Redirect("A-3"), _recorded()).key
    assert _dry(Redirect("A-1"), _recorded()).no_op


def test_a_changed_request_whose_answer_is_not_handed_on_unseen_is_unpredictable() -> None:
    outcome = _dry(Redirect("A-2", keeps_answer=False), _recorded())

    assert (outcome.kind, outcome.deviation) == (DryKind.UNPREDICTABLE, Deviation.ASK)


LOOKS: dict[str, Callable[[Response], object]] = {
    "at its value": lambda answer: answer.value,
    "as a truth": bool,
    "at its parts": list,
    "at one part": lambda answer: answer[0],
    "as equal": lambda answer: answer == Response("paid"),
    "as different": lambda answer: answer != Response("paid"),
    "as a text": str,
    "at its length": len,
    "by its hash": hash,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_a_changed_request_is_unpredictable_where_its_answer_is_looked_at(look: Callable[[Response], object]) -> None:
    async def act(crossing: Crossing, proceed: Proceed) -> Response:
        del crossing
        answer = await proceed(OTHER)
        look(answer)
        return answer

    assert _dry(Doing(act), _recorded()) == DryOutcome(DryKind.UNPREDICTABLE, b"", Deviation.ASK)


def test_an_operator_that_swallows_what_is_not_recorded_is_unpredictable() -> None:
    async def act(crossing: Crossing, proceed: Proceed) -> Response:
        try:
            return Response((await proceed(crossing.request)).value)
        except BaseException:
            return Response("none")

    unanswered = _recorded()._replace(response=b"", answered=-1)

    assert _dry(Doing(act), unanswered) == DryOutcome(DryKind.UNPREDICTABLE, b"", Deviation.ANSWER)


@pytest.mark.parametrize("operator", [DuplicateDelivery("first"), DuplicateDelivery("last"), Reorder()])
def test_a_second_or_a_later_call_is_unpredictable(operator: Operator) -> None:
    recorded = Sample(Boundary.MESSAGE, Request("send", {"to": "a"}), Response(None)).recorded()[-1]

    outcome = _dry(operator, recorded)

    assert outcome.kind is DryKind.UNPREDICTABLE
    assert outcome.deviation is (Deviation.ASK if isinstance(operator, Reorder) else Deviation.ANSWER)


def test_a_call_that_the_world_never_answered_is_unpredictable_unless_it_never_reaches_it() -> None:
    cancelled = _recorded()._replace(response=b"", answered=-1)

    assert _dry(Delay(), cancelled) == DryOutcome(DryKind.UNPREDICTABLE, b"", Deviation.ANSWER)
    assert _dry(Timeout("before"), cancelled).kind is DryKind.KNOWN


@pytest.mark.parametrize(
    ("operator", "deviation"),
    [
        (Timeout("before"), Deviation.ASK),
        (Timeout("after"), Deviation.ANSWER),
        (Delay(), Deviation.ANSWER),
        (DuplicateDelivery(), Deviation.ANSWER),
        (LateDuplicate(), Deviation.ANSWER),
        (FalseSuccess(), Deviation.ASK),
        (Redirect("A-2"), Deviation.ASK),
        (Redirect("A-1"), Deviation.NEVER),
    ],
)
def test_an_operator_deviates_when_it_first_does_more_than_pass_on(operator: Operator, deviation: Deviation) -> None:
    assert _dry(operator, _recorded()).deviation is deviation


def test_what_an_operator_does_with_a_history_that_is_not_recorded_is_unclear() -> None:
    recorded = Sample(Boundary.SERVICE, REQUEST, Response("shipped"), (Exchange(REQUEST, Response("paid")),)).recorded()
    unclear = [recorded[0]._replace(history_unclear=True), recorded[1]]

    assert apply_dry(FalseSuccess(), unclear[1], unclear, 0).deviation is Deviation.UNCLEAR
    assert apply_dry(FalseSuccess(), recorded[1], recorded, 0).deviation is Deviation.ASK


@dataclass(frozen=True, slots=True)
class Waiting:
    """Waits, and answers what others have been answered by then."""

    name: ClassVar[str] = "test/waiting"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    magnitude: ClassVar[float] = 1.0
    tokens: ClassVar[int] = 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:  # noqa: ARG002  # the protocol's
        await crossing.sleep(1.0)
        return Response(len(crossing.history))

    def describe(self) -> str:
        return "waits"


def test_the_history_behind_a_wait_is_not_known_as_others_may_have_been_answered_meanwhile() -> None:
    outcome = _dry(Waiting(), _recorded())

    assert (outcome.kind, outcome.deviation) == (DryKind.UNPREDICTABLE, Deviation.ASK)


def test_that_the_world_was_asked_again_at_a_crossing_makes_its_history_unclear_only_behind_its_answer() -> None:
    again = _recorded()._replace(history_unclear=True)

    assert _dry(Doing(_tells_history), again).kind is DryKind.KNOWN
    assert _dry(Doing(_asks_and_tells_history), again).kind is DryKind.UNPREDICTABLE


def test_a_stale_answer_comes_from_what_was_answered_before() -> None:
    sample = Sample(Boundary.SERVICE, REQUEST, Response("shipped"), (Exchange(REQUEST, Response("paid")),))
    recorded = sample.recorded()
    declared = recorded[-1]._replace(earlier=pack_response(Response("shipped")))

    assert not apply_dry(StaleResponse(), recorded[-1], recorded, seed=0).no_op
    assert apply_dry(StaleResponse(), recorded[0], recorded, seed=0).no_op
    assert apply_dry(StaleResponse(), declared, recorded, seed=0).no_op


def test_history_ends_where_the_crossing_is() -> None:
    write = Exchange(Request("write", {"key": "note", "value": "new"}), Response(None))
    first, written, last = Sample(
        Boundary.MEMORY, READ, Response("new"), (Exchange(READ, Response("old")), write)
    ).recorded()

    assert apply_dry(StaleRead(), first, [first, written, last], seed=0).no_op
    assert not apply_dry(StaleRead(), last, [last, written, first], seed=0).no_op


def test_the_earlier_answer_is_the_last_good_one_to_the_same_request() -> None:
    history = [
        Exchange(REQUEST, Response("new")),
        Exchange(REQUEST, Response("paid")),
        Exchange(REQUEST, Response(failure=Failure("timeout", ""))),
        Exchange(READ, Response("other")),
    ]

    assert earlier_answer(history, REQUEST, b"") == Response("paid")
    assert earlier_answer(history, Request("get_order", {}), b"") is None


def test_history_holds_the_last_eight_answers_in_the_order_in_which_they_came() -> None:
    earlier = tuple(Exchange(REQUEST, Response(number)) for number in range(11))
    recorded = Sample(Boundary.SERVICE, REQUEST, Response("paid"), earlier).recorded()
    late, unanswered = recorded[5]._replace(answered=18), recorded[9]._replace(answered=-1, response=b"")
    crossings = [*recorded[:5], late, *recorded[6:9], unanswered, *recorded[10:]]

    told = apply_dry(Doing(_tells_history), recorded[-1], crossings, 0)

    said = _says([2, 3, 4, 6, 7, 5, 8, 10], asks=False)
    assert told.key == apply_dry(said, recorded[-1], crossings, 0).key
    assert told.reads_history


@pytest.mark.parametrize("act", [_tells_history, _asks_and_tells_history])
def test_history_holds_nothing_of_the_crossing_itself_also_once_the_world_has_answered(act: Act) -> None:
    recorded = Sample(Boundary.SERVICE, REQUEST, Response("shipped"), (Exchange(REQUEST, Response("paid")),)).recorded()

    told = apply_dry(Doing(act), recorded[-1], recorded, 0)

    said = _says(["paid"], asks=act is _asks_and_tells_history)
    assert told.key == apply_dry(said, recorded[-1], recorded, 0).key


def test_an_operator_that_waits_before_it_asks_is_unpredictable() -> None:
    outcome = _dry(Doing(_waits_and_asks), _recorded())

    assert (outcome.kind, outcome.deviation) == (DryKind.UNPREDICTABLE, Deviation.ASK)


@pytest.mark.parametrize(
    ("waits", "asks", "deviation"),
    [
        (True, True, Deviation.ASK),
        (False, True, Deviation.ANSWER),
        (False, False, Deviation.UNCLEAR),
    ],
)
def test_what_returns_no_response_has_deviated_when_it_did_before(
    *, waits: bool, asks: bool, deviation: Deviation
) -> None:
    async def act(crossing: Crossing, proceed: Proceed) -> str:
        if waits:
            await crossing.sleep(1.0)
        if asks:
            await proceed(crossing.request)
        return "no response"

    assert _dry(Doing(act), _recorded()) == DryOutcome(DryKind.UNPREDICTABLE, b"", deviation)


def test_an_unclear_deviation_lies_at_the_ask_if_it_can() -> None:
    assert Deviation.UNCLEAR.position(0, 3) == Deviation.ASK.position(0, 3) == 0
    assert Deviation.UNCLEAR.position(-1, 3) == Deviation.ANSWER.position(2, 3) == 3
    assert Deviation.ANSWER.position(2, -1) == -1


@pytest.mark.parametrize(
    ("asked", "returned"), [((OTHER, REQUEST), 0), ((REQUEST, OTHER), 1), ((OTHER, THIRD), 1), ((OTHER, OTHER), 0)]
)
def test_a_changed_request_among_several_is_unpredictable(asked: tuple[Request, ...], returned: int) -> None:
    async def act(crossing: Crossing, proceed: Proceed) -> Response:
        del crossing
        answers = [await proceed(request) for request in asked]
        return answers[returned]

    assert _dry(Doing(act), _recorded()).kind is DryKind.UNPREDICTABLE


@pytest.mark.parametrize("is_before", [False, True])
def test_a_changed_request_is_unpredictable_with_a_wait(*, is_before: bool) -> None:
    async def act(crossing: Crossing, proceed: Proceed) -> Response:
        if is_before:
            await crossing.sleep(1.0)
        answer = await proceed(OTHER)
        if not is_before:
            await crossing.sleep(1.0)
        return answer

    assert _dry(Doing(act), _recorded()).kind is DryKind.UNPREDICTABLE
