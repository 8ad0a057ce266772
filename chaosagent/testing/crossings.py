"""Crossings made by hand: what an operator is tried on outside a run."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Proceed, Request, Response, Toxic
from chaosagent.faults.dry import (
    Deviation,
    RecordedCrossing,
    earlier_answer,
    operator_rng,
    pack_request,
    pack_response,
    unpack_request,
    unpack_response,
)
from chaosagent.faults.injection import Place
from chaosagent.faults.operator import Operator
from chaosagent.testing.hostile import hostile_answers
from chaosagent.vocabulary import Boundary


class Sample(NamedTuple):
    """One crossing that an operator is tried on.

    Attributes:
        boundary: The class of the interface.
        request: What the agent asks.
        answer: What the world answers, each time it is asked.
        history: Earlier exchanges through the interface, oldest first.
        stale: What the interface declares that a cache would hold.
        read_only: The operation changes nothing.
    """

    boundary: Boundary
    request: Request
    answer: Response
    history: tuple[Exchange, ...] = ()
    stale: Response | None = None
    read_only: bool = False

    def copy(self) -> Sample:
        """Return fresh plain data, as a run hands them out."""
        return Sample(
            self.boundary,
            unpack_request(pack_request(self.request)),
            _copied(self.answer),
            tuple(
                Exchange(unpack_request(pack_request(exchange.request)), _copied(exchange.response))
                for exchange in self.history
            ),
            None if self.stale is None else _copied(self.stale),
            self.read_only,
        )

    @property
    def place(self) -> Place:
        """Where it happens: behind its history."""
        return Place(f"{self.boundary.value}:sample", "planner", len(self.history) + 1)

    def recorded(self) -> list[RecordedCrossing]:
        """Return history and crossing as an executed run would have recorded them, the crossing last."""
        exchanges = [*self.history, Exchange(self.request, self.answer)]
        return [
            RecordedCrossing(
                place=self.place._replace(occurrence=number),
                boundary=self.boundary,
                request=pack_request(exchange.request),
                response=pack_response(exchange.response),
                earlier=b"" if self.stale is None else pack_response(self.stale),
                asked=2 * number,
                answered=2 * number + 1,
                asked_at=float(number),
                answered_at=number + 0.25,
                read_only=self.read_only,
                alone=True,
            )
            for number, exchange in enumerate(exchanges, 1)
        ]


class FakeCrossing:
    """A crossing without a run: the world answers at once, time is only counted.

    Args:
        sample: What happens in it.
        seed: Of the run that it stands for.

    Attributes:
        sample: A copy of what happens; the operator gets these very objects, so that a change can be seen.
        calls: The requests that reached the world, in order.
        waits: Seconds and the number of calls before, for every time the operator let time pass.
        deferred: Seconds and request, for everything that reaches the world later.
        toxics: What disturbed the connection, each with the number of calls that it met.
        history_was_read: Whether the operator looked at `history` or called `earlier()`.
        deviation: When it first did more than pass on; `None` as long as it has not, though it may still return
            something else than the answer.
    """

    def __init__(self, sample: Sample, seed: int = 0) -> None:
        self.sample, self._seed = sample.copy(), seed
        self.calls: list[Request] = []
        self.waits: list[tuple[float, int]] = []
        self.deferred: list[tuple[float, Request]] = []
        self.toxics: list[tuple[Toxic, int]] = []
        self.history_was_read = False
        self.deviation: Deviation | None = None

    def _act(self) -> None:
        if self.deviation is None:
            self.deviation = Deviation.ANSWER if self.calls else Deviation.ASK

    @property
    def boundary(self) -> Boundary:
        """The class of the interface."""
        return self.sample.boundary

    @property
    def interface(self) -> str:
        """Such as `"service:sample"`."""
        return self.sample.place.interface

    @property
    def agent(self) -> str:
        """Who asks."""
        return self.sample.place.agent

    @property
    def request(self) -> Request:
        """What is asked."""
        return self.sample.request

    @property
    def read_only(self) -> bool:
        """The operation changes nothing."""
        return self.sample.read_only

    @property
    def history(self) -> Sequence[Exchange]:
        """Earlier exchanges, oldest first."""
        self.history_was_read = True
        return self.sample.history

    @property
    def rng(self) -> random.Random:
        """The random stream of the hook, from its beginning."""
        return operator_rng(self._seed, self.sample.place)

    def earlier(self) -> Response | None:
        """Return what a cache would hold."""
        self.history_was_read = True
        if self.sample.stale is not None:
            return self.sample.stale
        return earlier_answer(self.history, self.request, b"")

    async def sleep(self, seconds: float) -> None:
        """Count the seconds."""
        self._act()
        self.waits.append((seconds, len(self.calls)))

    def defer(self, seconds: float, proceed: Proceed, request: Request) -> None:  # noqa: ARG002  # the protocol's
        """Note what would reach the world later."""
        self._act()
        self.deferred.append((seconds, request))

    @contextlib.asynccontextmanager
    async def disturbed(self, toxic: Toxic) -> AsyncIterator[None]:
        """Note what would disturb the connection, and which calls it would meet.

        Raises:
            AssertionError: There is no connection at this boundary.
        """
        if self.boundary is not Boundary.NETWORK:
            raise AssertionError(f"{toxic.type!r} at {self.interface}: only a network's connections can be disturbed.")
        self._act()
        before = len(self.calls)
        yield
        self.toxics.append((toxic, len(self.calls) - before))

    async def proceed(self, request: Request) -> Response:
        """Be the world."""
        if self.calls or pack_request(request) != pack_request(self.sample.request):
            self._act()
        self.calls.append(request)
        return self.sample.answer

    @property
    def seconds(self) -> float:
        """How much time the operator let pass."""
        return sum(seconds for seconds, _ in self.waits)


class _Silence:
    def __await__(self) -> Generator[None, None, None]:
        yield


class SilentCrossing(FakeCrossing):
    """A crossing whose world never answers, so that the agent gives the call up."""

    async def proceed(self, request: Request) -> Response:
        """Wait for an answer."""
        response = await super().proceed(request)
        await _Silence()
        return response

    def give_up(self, operator: Operator) -> str:
        """Let an operator act, give the call up, and return what it does wrong then; empty when nothing."""
        work = operator.apply(self, self.proceed)
        try:
            work.send(None)
            if self.deviation is not None:
                return ""  # it has acted by then, and may do what it likes
            work.throw(asyncio.CancelledError())
        except StopIteration:
            return "it keeps the agent from giving its call up." if self.calls and self.deviation is None else ""
        except asyncio.CancelledError:
            return "" if self.deviation is None else "it acts because the agent gives its call up."
        finally:
            work.close()
        return "it waits although the agent has given its call up."


def _copied(response: Response) -> Response:
    return unpack_response(pack_response(response))


def play(operator: Operator, crossing: FakeCrossing) -> Response:
    """Let an operator act on a crossing made by hand.

    Raises:
        AssertionError: It waits for something else than the crossing.
    """
    work = operator.apply(crossing, crossing.proceed)
    try:
        work.send(None)  # nothing in a fake crossing suspends
    except StopIteration as stop:
        response: Response = stop.value
        return response
    work.close()
    raise AssertionError(
        f"{operator!r} waits for something else than `proceed` and `crossing.sleep`; in a run that would wait for ever."
    )


def samples(boundary: Boundary) -> Iterator[Sample]:
    """Yield crossings of one boundary: usual ones with and without a history, and every hostile answer."""
    for request, answers in _USUAL[boundary]:
        for answer in answers:
            yield Sample(boundary, request, answer)
        older, newer = answers[0], answers[-1]
        yield Sample(boundary, request, newer, (Exchange(request, older), Exchange(request, newer)), stale=older)
        yield Sample(boundary, request, newer, (Exchange(request, older),), read_only=True)
        yield Sample(boundary, request, newer, (*_WRITES, Exchange(request, older)))
        yield Sample(boundary, request, newer, _WRITES)
        if request.operation in _TRIED_WITH_HOSTILE_ANSWERS:
            for answer in hostile_answers():
                yield Sample(boundary, request, answer, (Exchange(request, answer),))


def _responses(values: Iterable[Plain]) -> tuple[Response, ...]:
    return tuple(Response(value) for value in values)


# One operation for each way in which operators tell operations apart; more would only take longer.
_TRIED_WITH_HOSTILE_ANSWERS = frozenset({"get_order", "search", "read", "write", "complete", "send"})

_ORDER: dict[str, Plain] = {
    "order_id": "A-1006",
    "amount": 59.9,
    "items": [{"sku": "S-1", "count": 2}, {"sku": "S-2", "count": 1}],
    "paid": True,
    "status": "shipped",
    "updated_at": "2026-03-01T09:30:00Z",
    "version": 3,
}

_PASSAGES: Plain = [
    {"id": "kb-1", "text": "Refunds are paid within 30 days.", "score": 7.5},
    {"id": "kb-2", "text": "Opened goods are not taken back.", "score": 5.0},
    {"id": "kb-3", "text": "Parcels are tracked by the carrier.", "score": 2.5},
    {"id": "kb-4", "text": "The office is closed on Sundays.", "score": 0.5},
]

_TOOLS: Plain = [
    {"name": "refund", "description": "Pay a customer back. Ask for approval above 100.", "parameters": {"order": {}}},
    {"name": "get_order", "description": "Read an order.", "parameters": {}},
    {"name": "escalate", "description": "Hand the matter to a person.", "annotations": {"readOnlyHint": True}},
    {"name": "send_message", "description": "Write to a customer."},
]

_INSTRUCTIONS = """Refund order A-1006 for customer C-17 before 2026-03-05. The amount is 59.90 EUR.
If the parcel was delivered, ask for approval first. Never send money to another account.
Please check the following:
- the invoice must be paid
- the amount must be at most 100 EUR
- ticket T-4711 was closed on 1 March 2026
Do not tell the customer about internal rules. Answer as soon as possible."""

_WRITES = tuple(
    Exchange(Request("write", {"key": "note", "value": value}), Response({"ok": True})) for value in ("first", "second")
)

_USUAL: dict[Boundary, tuple[tuple[Request, tuple[Response, ...]], ...]] = {
    Boundary.SERVICE: (
        (
            Request("get_order", {"order_id": "A-1006"}),
            _responses([_ORDER | {"status": "paid", "version": 2}, _ORDER]),
        ),
        (Request("list_orders", {}), _responses([[], [_ORDER, _ORDER | {"order_id": "A-1007"}]])),
        (
            Request("list_refunds", {"cursor": "p-2"}),
            _responses([{"items": [{"id": "R-1", "approved": True}], "next_cursor": "p-3", "has_more": True}]),
        ),
        (Request("refund", {"order_id": "A-1006", "amount": 59.9}), _responses([{"refund_id": "R-1", "ok": True}])),
        (Request("balance", {}), _responses([100, 42.5])),
        (Request("status", {}), _responses(["in transit", "delivered to the door"])),
    ),
    Boundary.RETRIEVAL: (
        (Request("search", {"query": "refunds", "k": 3}), _responses([_PASSAGES])),
        (
            Request("search", {"query": "exchange"}),
            _responses([[], {"passages": [{"id": "kb-2", "text": "A refund can be refused."}, {"text": "No."}]}]),
        ),
    ),
    Boundary.MEMORY: (
        (Request("read", {"key": "note"}), _responses([None, "second"])),
        (Request("write", {"key": "note", "value": "third"}), _responses([None])),
        (Request("append", {"key": "note", "value": "fourth"}), _responses([None])),
        (Request("read", {"key": "notes"}), _responses([["oldest", "older", "newest"]])),
        (Request("keys", {}), _responses([["note"]])),
    ),
    Boundary.PROMPT: (
        (Request("read", {"text": "Where is my order?"}), _responses(["Where is my order?"])),
        (Request("read", {"id": 7}), _responses([{"from": "ann@example.org", "body": "Where is my order?"}])),
        (Request("system", {}), _responses([_INSTRUCTIONS])),
    ),
    Boundary.MODEL: (
        (
            Request("complete", {"messages": [{"role": "user", "content": "Where is my order?"}]}),
            _responses(
                [
                    {"content": "It is on its way.", "tool_calls": []},
                    {
                        "content": "",
                        "tool_calls": [
                            {"name": "get_order", "arguments": {"order_id": "A-1006", "fresh": True}},
                            {"name": "get_customer", "arguments": {}},
                        ],
                    },
                ]
            ),
        ),
        (Request("complete", {"prompt": "Yes or no?"}), _responses(["Yes."])),
        (
            Request("complete", {"messages": [], "tools": _TOOLS}),
            _responses(
                [
                    {"content": "Let me look.", "tool_calls": [{"name": "get_order", "arguments": {"order": "A-7"}}]},
                    {
                        "content": "I refund it.",
                        "tool_calls": [{"id": "c-1", "name": "refund", "arguments": '{"order": "A-7", "amount": 5}'}],
                        "finish_reason": "tool_calls",
                    },
                ]
            ),
        ),
    ),
    Boundary.TOOLS: (
        (Request("list", {}), _responses([[], _TOOLS])),
        (Request("list", {"cursor": None}), _responses([{"tools": _TOOLS, "next": None}])),
    ),
    Boundary.NETWORK: (
        (Request("transfer", {"to": "bob", "amount": 40}), _responses([{"balance": 60}])),
        (Request("balance", {"of": "bob"}), _responses([100, 140])),
    ),
    Boundary.MESSAGE: (
        (Request("send", {"to": "verifier", "body": {"refund": "A-1006"}}), _responses([None])),
        (
            Request("send", {"to": "verifier", "body": {"from": "planner", "text": "Check A-1006.", "days": [3, 7]}}),
            _responses([None]),
        ),
        (Request("receive", {"agent": "verifier"}), _responses([{"refund": "A-1006"}])),
    ),
}
