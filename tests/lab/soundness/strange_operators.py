"""Operators as a stranger might write them: legal, and unlike the built-in ones in when they begin to act."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OPERATORS, Domain, bound
from chaosagent.vocabulary import Boundary, Failure


@dataclass(frozen=True, slots=True)
class _Strange:
    boundaries: ClassVar[frozenset[Boundary]] = frozenset(Boundary)
    parameters: ClassVar[Mapping[str, Domain]] = {}
    by_default: ClassVar[bool] = False
    magnitude: ClassVar[float] = 0.5
    tokens: ClassVar[int] = 0

    def describe(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class RepeatIfOdd(_Strange):
    """Delivers a second time if the answer is an odd number: the answer decides."""

    name: ClassVar[str] = "strange/repeat-if-odd"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if isinstance(response.value, int) and response.value % 2:
            await proceed(crossing.request)
        return response


@dataclass(frozen=True, slots=True)
class Yield(_Strange):
    """Lets others act, at the ask and without any time passing."""

    name: ClassVar[str] = "strange/yield"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await crossing.sleep(0.0)
        return await proceed(crossing.request)


@dataclass(frozen=True, slots=True)
class YieldAfter(_Strange):
    """Lets others act before the answer arrives, without any time passing."""

    name: ClassVar[str] = "strange/yield-after"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        await crossing.sleep(0.0)
        return response


@dataclass(frozen=True, slots=True)
class EarlyOrLate(_Strange):
    """Acts at the ask of large amounts, and at the answer of small ones."""

    name: ClassVar[str] = "strange/early-or-late"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if crossing.request.arguments.get("amount") not in (0, 1):
            await crossing.sleep(1.0)
            return await proceed(crossing.request)
        await proceed(crossing.request)
        return Response(failure=Failure("timeout", "strange"))


@dataclass(frozen=True, slots=True)
class Larger(_Strange):
    """Asks for more, and hands on whatever comes back."""

    name: ClassVar[str] = "strange/larger"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        arguments = dict(crossing.request.arguments)
        if isinstance(arguments.get("amount"), int):
            arguments["amount"] = 7
        return await proceed(crossing.request._replace(arguments=arguments))


@dataclass(frozen=True, slots=True)
class LargerThenNothing(_Strange):
    """Asks for more like `Larger`, and then loses the answer: the same request, and another outcome."""

    name: ClassVar[str] = "strange/larger-then-nothing"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        arguments = dict(crossing.request.arguments)
        if isinstance(arguments.get("amount"), int):
            arguments["amount"] = 7
        await proceed(crossing.request._replace(arguments=arguments))
        return Response(None)


@dataclass(frozen=True, slots=True)
class NothingLater(_Strange):
    """Answers nothing, a second after it was asked."""

    name: ClassVar[str] = "strange/nothing-later"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:  # noqa: ARG002  # the protocol's
        await crossing.sleep(1.0)
        return Response(None)


@dataclass(frozen=True, slots=True)
class OtherLater(_Strange):
    """Answers, a second after it was asked, what others have been answered by then: at first nothing."""

    name: ClassVar[str] = "strange/other-later"
    reads_history: ClassVar[bool] = True
    magnitude: ClassVar[float] = 0.6

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:  # noqa: ARG002  # the protocol's
        await crossing.sleep(1.0)
        return Response(crossing.history[-1].response.value if crossing.history else None)


STRANGE = (RepeatIfOdd, Yield, YieldAfter, EarlyOrLate, Larger, LargerThenNothing, NothingLater, OtherLater)


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Register the operators as entry points would, and forget them afterwards."""
    known = getattr(OPERATORS, "_entries") or {name: OPERATORS.get(name) for name in OPERATORS}  # noqa: B009
    setattr(OPERATORS, "_entries", {**known, **{kind.name: kind for kind in STRANGE}})  # noqa: B010
    bound.cache_clear()
    try:
        yield
    finally:
        setattr(OPERATORS, "_entries", known)  # noqa: B010
        bound.cache_clear()
