"""The conformance suite accepts a stranger's good operator and catches bad ones."""

# The names of the classes say what is wrong with them.
# ruff: noqa: ARG002, D101

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OPERATORS, Domain, Levels, Operator, ParameterValue, bound
from chaosagent.testing.operators import OperatorConformance
from chaosagent.vocabulary import Boundary, Failure


@dataclass(frozen=True, slots=True)
class Clip:
    """A text loses all but its first characters.

    Attributes:
        count: How many are kept.
    """

    name: ClassVar[str] = "example/clip"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {"count": Levels(2, 1, limits=(0, 5))}

    count: int = 2

    @property
    def magnitude(self) -> float:
        return 1.0 - self.count / 10

    @property
    def tokens(self) -> int:
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        value = response.value
        return response._replace(value=value[: self.count] if isinstance(value, str) else value)

    def describe(self) -> str:
        return f"keeps {self.count} characters"


class TestClip(OperatorConformance):
    kind = Clip

    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Register it as an entry point would, and forget it afterwards."""
        known = {name: OPERATORS.get(name) for name in OPERATORS}
        monkeypatch.setattr(OPERATORS, "_entries", {**known, Clip.name: Clip})
        bound.cache_clear()
        yield
        bound.cache_clear()


class Mutating(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        if isinstance(response.value, dict):
            response.value["status"] = "lost"
        return response


class MutatingRequest(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        cast("dict[str, Plain]", crossing.request.arguments)["amount"] = 0
        return await proceed(crossing.request)


_DRAWS = itertools.count()


class Impure(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=next(_DRAWS))


class Larger(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        return (await proceed(crossing.request))._replace(value="x" * 1_000_000, failure=None)


class Repeating(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        for _ in range(100):
            response = await proceed(crossing.request)
        return response


class Sleeping(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        await crossing.sleep(1e12)
        return response


class Insisting(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        try:
            return await proceed(crossing.request)
        except asyncio.CancelledError:
            return Response("too late")


class ActingOnCancellation(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        try:
            return await proceed(crossing.request)
        except asyncio.CancelledError:
            crossing.defer(1.0, proceed, crossing.request)
            raise


class WaitingElsewhere(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await asyncio.sleep(1.0)
        return await proceed(crossing.request)


class EarlyInARun(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if "Fake" in type(crossing).__name__:
            await crossing.sleep(1.0)
        return await proceed(crossing.request)


class Stumbling(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=cast("dict[str, Plain]", response.value)["status"])


class Nesting(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value={"data": [response.value]})


class Opaque(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        return (await proceed(crossing.request))._replace(value=cast(Plain, object()))


class Contradictory(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await proceed(crossing.request)
        return Response("all well", Failure("timeout", "timed out"))


class NotAnswering(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await proceed(crossing.request)
        return cast(Response, None)


class Waiting(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await asyncio.sleep(0)
        return await proceed(crossing.request)


class HistoryReading(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return crossing.history[-1].response if crossing.history else response


class KnowingWhereItIs(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return Response("tried") if "Fake" in type(crossing).__name__ else response


class Idle(Clip):
    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        return await proceed(crossing.request)


class Unexplained(Clip):
    """A text loses its end."""


class Nowhere(Clip):
    boundaries = frozenset()


class Unspeakable(Clip):
    name = "clip it(now)"


class WithoutFields(Clip):
    parameters: ClassVar[Mapping[str, Domain]] = {}


class BadDefault(Clip):
    parameters: ClassVar[Mapping[str, Domain]] = {"count": Levels(3, limits=(3, 5))}


class BadLevel(Clip):
    parameters: ClassVar[Mapping[str, Domain]] = {"count": Levels(2.5, 2, limits=(0, 5))}


class ManyLevels(Clip):
    parameters: ClassVar[Mapping[str, Domain]] = {"count": Levels(*range(100), limits=(0, 100))}


class _Anything(Levels):
    def check(self, operator: str, parameter: str, value: ParameterValue) -> ParameterValue:
        return value


class Unbounded(Clip):
    parameters: ClassVar[Mapping[str, Domain]] = {"count": _Anything(2, limits=(0, 5))}


class Weak(Clip):
    @property
    def magnitude(self) -> float:
        return 0.0


class Inverted(Clip):
    @property
    def magnitude(self) -> float:
        return 0.1 + self.count / 10


class Paying(Clip):
    @property
    def tokens(self) -> int:
        return -5


class Talking(Clip):
    def describe(self) -> str:
        return "keeps\nsome"


def _local() -> type[Operator]:
    class Local(Clip):
        pass

    return Local


BAD: tuple[tuple[type[Operator], str, str], ...] = (
    (Mutating, "it_works_on_copies", "it changed the request, the answer or the history"),
    (MutatingRequest, "it_works_on_copies", "it changed the request"),
    (Impure, "it_is_pure", "twice the same crossing, two outcomes"),
    (Larger, "its_effect_is_bounded", r"\d+ bytes out of \d+"),
    (Repeating, "its_effect_is_bounded", "100 calls out of one"),
    (Sleeping, "its_effect_is_bounded", r"it waits \[1000000000000.0\] s"),
    (Waiting, "it_waits_for_its_crossing_alone", "waits for something else than `proceed`"),
    (WaitingElsewhere, "it_waits_for_its_crossing_alone", "waits for something else than `proceed`"),
    (Insisting, "it_lets_the_agent_give_its_call_up", "keeps the agent from giving its call up"),
    (ActingOnCancellation, "it_lets_the_agent_give_its_call_up", "acts because the agent gives its call up"),
    (
        EarlyInARun,
        "dry_application_tells_when_it_begins_to_act",
        "begins to act when the agent asks; dry .* says never",
    ),
    (Stumbling, "it_survives_hostile_answers", "it raised TypeError"),
    (Nesting, "it_survives_hostile_answers", "not plain data.* nests deeper than 64"),
    (Opaque, "it_survives_hostile_answers", "not plain data"),
    (Contradictory, "it_survives_hostile_answers", "a failure must come without a value"),
    (NotAnswering, "it_survives_hostile_answers", "it returned NoneType"),
    (Waiting, "it_survives_hostile_answers", "waits for something else"),
    (HistoryReading, "it_declares_that_it_reads_history", "Write `reads_history"),
    (KnowingWhereItIs, "applied_dry_it_does_what_it_does", "dry, it does something else"),
    (Idle, "it_acts_on_something", "changes nothing on any crossing"),
    (Unexplained, "its_docstring_explains_every_parameter", "does not explain count"),
    (Nowhere, "it_names_the_boundaries_where_it_acts", "can act nowhere"),
    (Unspeakable, "its_name_can_stand_in_a_schedule", "begin with a letter"),
    (WithoutFields, "its_fields_are_its_parameters", r"fields \['count'\], parameters \[\]"),
    (BadDefault, "its_defaults_lie_inside_their_domains", "its own default is refused.*count=2"),
    (BadLevel, "its_lattice_is_small_and_within_bounds", "level count=2 becomes 2.0"),
    (ManyLevels, "its_lattice_is_small_and_within_bounds", "100 lattice points"),
    (Unbounded, "it_refuses_values_out_of_bounds", "accepts count=nan"),
    (Weak, "its_magnitude_grows_with_its_strength", r"must lie in \(0, 1\]"),
    (Inverted, "its_magnitude_grows_with_its_strength", "levels of count have magnitudes"),
    (Paying, "it_costs_something", "counts -5 tokens"),
    (Talking, "it_describes_itself_in_one_line", "one line"),
    (_local(), "it_can_be_sent_to_another_process", "cannot be sent to another process"),
    (Idle, "its_text_form_can_be_read_back", "cannot be read back.*unknown operator"),
)


@pytest.mark.parametrize(("kind", "check", "complaint"), BAD, ids=lambda value: getattr(value, "__name__", None))
def test_the_suite_catches_an_operator(kind: type[Operator], check: str, complaint: str) -> None:
    suite = type("Suite", (OperatorConformance,), {"kind": kind})()

    with pytest.raises(AssertionError, match=complaint):
        getattr(suite, f"test_{check}")()


def test_every_check_of_the_suite_catches_something() -> None:
    checks = {name.removeprefix("test_") for name in vars(OperatorConformance) if name.startswith("test_")}

    assert {check for _, check, _ in BAD} == checks
