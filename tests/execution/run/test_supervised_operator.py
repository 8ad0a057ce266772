"""Operators act when the agent asks or when the world has answered; a run refuses those that act at other moments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from chaosagent.errors import PluginError
from chaosagent.execution.execute import Execution
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.dry import DryKind, apply_dry
from chaosagent.faults.operator import OPERATORS, Domain, bound
from chaosagent.targets.target import Run
from chaosagent.vocabulary import Boundary

Play = Callable[..., Execution]
ACTS: dict[str, Callable[[Crossing, Proceed], Awaitable[Response]]] = {}


def act(function: Callable[[Crossing, Proceed], Awaitable[Response]]) -> None:
    """Let a function be what an operator does, under its name."""
    ACTS[function.__name__.replace("_", "-")] = function


@act
async def waits_for_a_timer(crossing: Crossing, proceed: Proceed) -> Response:
    response = await proceed(crossing.request)
    await asyncio.sleep(1.0)
    return response


@act
async def waits_for_a_timer_after_a_sleep(crossing: Crossing, proceed: Proceed) -> Response:
    await crossing.sleep(1.0)
    await asyncio.sleep(1.0)
    return await proceed(crossing.request)


@act
async def lets_others_act(crossing: Crossing, proceed: Proceed) -> Response:
    await asyncio.sleep(0)
    return await proceed(crossing.request)


@act
async def calls_from_a_task(crossing: Crossing, proceed: Proceed) -> Response:
    return await asyncio.ensure_future(proceed(crossing.request))


@act
async def waits_in_a_task(crossing: Crossing, proceed: Proceed) -> Response:
    asyncio.ensure_future(crossing.sleep(1.0))  # noqa: RUF006  # it is refused
    response = await proceed(crossing.request)
    await crossing.sleep(5.0)
    return response


@act
async def swallows_the_end(crossing: Crossing, proceed: Proceed) -> Response:
    try:
        return await proceed(crossing.request)
    except asyncio.CancelledError:
        return Response("too late")


@act
async def acts_at_the_end(crossing: Crossing, proceed: Proceed) -> Response:
    try:
        return await proceed(crossing.request)
    except asyncio.CancelledError:
        crossing.defer(1.0, proceed, crossing.request)
        raise


@act
async def yields(crossing: Crossing, proceed: Proceed) -> Response:
    await crossing.sleep(0.0)
    return await proceed(crossing.request)


@act
async def repeats_when_odd(crossing: Crossing, proceed: Proceed) -> Response:
    response = await proceed(crossing.request)
    if response.value == 1:
        await proceed(crossing.request)
    return response


@act
async def repeats_before_it_ends(crossing: Crossing, proceed: Proceed) -> Response:
    await crossing.sleep(1.0)
    try:
        return await proceed(crossing.request)
    except asyncio.CancelledError:
        crossing.defer(1.0, proceed, crossing.request)
        raise


@act
async def swallows_the_end_after_a_sleep(crossing: Crossing, proceed: Proceed) -> Response:
    await crossing.sleep(1.0)
    return await ACTS["swallows-the-end"](crossing, proceed)


KEPT: list[tuple[Crossing, Proceed]] = []


@act
async def uses_one_that_has_ended(crossing: Crossing, proceed: Proceed) -> Response:
    KEPT.append((crossing, proceed))
    first, its_proceed = KEPT[0]
    if first is not crossing:
        await its_proceed(first.request)
    return await proceed(crossing.request)


@act
async def ends_the_program(_: Crossing, __: Proceed) -> Response:
    raise SystemExit(2)


@act
async def cancels_by_itself(_: Crossing, __: Proceed) -> Response:
    raise asyncio.CancelledError


@act
async def answers_what_cannot_cross(_: Crossing, __: Proceed) -> Response:
    return Response(object())  # type: ignore[arg-type]  # which is the mistake


@dataclass(frozen=True, slots=True)
class Acting:
    """Does what one of the functions above does."""

    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    magnitude: ClassVar[float] = 1.0
    tokens: ClassVar[int] = 0
    name: ClassVar[str] = ""

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        return await ACTS[self.name.partition("/")[2]](crossing, proceed)

    def describe(self) -> str:
        return self.name


@pytest.fixture(autouse=True)
def _acting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for known in ACTS:
        name = f"acting/{known}"
        monkeypatch.setitem(OPERATORS._load(), name, type("Acting", (Acting,), {"name": name}))
    bound.cache_clear()
    yield
    KEPT.clear()
    bound.cache_clear()


async def hurries(run: Run) -> str:
    """Ask something that takes two seconds, and give it up after one and a half."""

    async def get() -> int:
        await asyncio.sleep(2.0)
        return 1

    slow = run.service("slow", {"get": get})
    try:
        async with asyncio.timeout(1.5):
            return str(await slow("get"))
    except TimeoutError:
        return "gave up"


async def waits(run: Run) -> str:
    """Ask something that takes two seconds, and wait for it."""

    async def get() -> int:
        await asyncio.sleep(2.0)
        return 1

    return str(await run.service("slow", {"get": get})("get"))


async def asks(run: Run) -> tuple[Any, Any]:
    """Ask twice, both at once; the world counts."""
    answers = iter(range(1, 9))
    service = run.service("s", {"get": lambda: next(answers)})
    return await asyncio.gather(service("get"), service("get"))


async def asks_and_ends(run: Run) -> str:
    return str(await asks(run))


@pytest.mark.parametrize(
    ("agent", "operator", "message"),
    [
        (asks, "waits-for-a-timer", r"service:s\[1\] acting/waits-for-a-timer waits for something else than `proceed`"),
        (waits, "waits-for-a-timer", r"service:slow\[1\] acting/waits-for-a-timer waits for something else"),
        (asks, "waits-for-a-timer-after-a-sleep", "waits for something else than `proceed`"),
        (asks, "lets-others-act", "waits for something else than `proceed`"),
        (asks, "calls-from-a-task", "waits for something else"),
        (hurries, "waits-in-a-task", "uses its crossing from another task"),
        (hurries, "swallows-the-end", "keeps the agent from giving its call up"),
        (hurries, "acts-at-the-end", "acts because the agent gives its call up"),
    ],
)
def test_an_operator_that_acts_at_a_moment_of_its_own_ends_the_run(
    play: Play, agent: Any, operator: str, message: str
) -> None:
    place = "service:s[1]" if agent is asks else "service:slow[1]"

    with pytest.raises(PluginError, match=message):
        play(agent, f"{place} acting/{operator}")


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("ends-the-program", r"s\[1\] acting/ends-the-program raised SystemExit: 2"),
        ("cancels-by-itself", r"s\[1\] acting/cancels-by-itself raised CancelledError"),
        ("answers-what-cannot-cross", r"s\[1\] acting/answers-what-cannot-cross returned what cannot cross"),
    ],
)
def test_what_an_operator_does_wrong_is_blamed_on_it(play: Play, operator: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        play(asks, f"service:s[1] acting/{operator}")


def test_an_operator_that_uses_a_crossing_which_has_ended_is_refused(play: Play) -> None:
    operator = "acting/uses-one-that-has-ended"

    with pytest.raises(PluginError, match="uses its crossing from another task, or after it has ended"):
        play(asks, f"service:s[1] {operator}; service:s[2] {operator}")


def test_nobody_foresees_an_operator_that_has_kept_a_crossing(play: Play) -> None:
    recorded = list(play(asks_and_ends).evaluation.crossings)
    operator = OPERATORS.get("acting/uses-one-that-has-ended")()

    first, second = (apply_dry(operator, one, recorded, 0).kind for one in recorded)

    assert (first, second) == (DryKind.KNOWN, DryKind.UNPREDICTABLE)


@pytest.mark.parametrize("operator", ["ends-the-program", "cancels-by-itself", "answers-what-cannot-cross"])
def test_what_an_operator_does_wrong_is_left_to_its_run(play: Play, operator: str) -> None:
    recorded = list(play(asks_and_ends).evaluation.crossings)

    assert apply_dry(OPERATORS.get(f"acting/{operator}")(), recorded[0], recorded, 0).kind is DryKind.UNPREDICTABLE


async def _gives_up_within() -> int:
    try:
        async with asyncio.timeout(1.0):
            await asyncio.sleep(5.0)
    except TimeoutError:
        return 1
    return 2


async def _fails_within() -> int:
    async def fail() -> None:
        raise ValueError("within")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(5.0))
            group.create_task(fail())
            await asyncio.sleep(5.0)
    except* ValueError:
        pass
    return 1


@pytest.mark.parametrize("tool", [_gives_up_within, _fails_within])
@pytest.mark.parametrize(
    "operator",
    ["service.delay(seconds=5.0)", "service.duplicate_delivery(which=last)", "service.lost_response(when=after)"],
)
def test_a_tool_that_cancels_something_within_has_answered(play: Play, tool: Any, operator: str) -> None:
    async def agent(run: Run) -> str:
        try:
            return str(await run.service("slow", {"get": tool})("get"))
        except ConnectionError:
            return "lost"

    found = play(agent, f"service:slow[1] {operator}")

    assert found.trace.outcome.message in ("1", "lost")
    assert found.evaluation.acted == found.evaluation.crossings[0].answered


def test_what_lets_others_act_without_any_time_passing_lands(play: Play) -> None:
    async def agent(run: Run) -> str:
        return str(await asks(run))

    nominal, yielded = play(agent).trace, play(agent, "service:s[1] acting/yields")

    assert yielded.trace.outcome.message != nominal.outcome.message
    assert str(yielded.evaluation.effective) == "service:s[1] acting/yields"
    assert yielded.evaluation.acted == yielded.evaluation.crossings[0].asked


def test_whether_and_when_an_operator_acts_may_depend_on_the_answer(play: Play) -> None:
    async def agent(run: Run) -> str:
        return str(await asks(run))

    odd = play(agent, "service:s[1] acting/repeats-when-odd").evaluation
    even = play(agent, "service:s[2] acting/repeats-when-odd").evaluation

    assert odd.acted == odd.crossings[0].answered
    assert (len(even.effective), even.acted) == (0, -1)


def test_an_operator_that_has_acted_may_do_more_when_its_call_is_given_up(play: Play) -> None:
    evaluation = play(hurries, "service:slow[1] acting/repeats-before-it-ends").evaluation

    assert evaluation.acted == evaluation.crossings[0].asked


def test_an_operator_that_has_acted_may_keep_the_agent_from_giving_its_call_up(play: Play) -> None:
    found = play(hurries, "service:slow[1] acting/swallows-the-end-after-a-sleep")

    assert found.trace.outcome.message == "too late"
    assert found.evaluation.acted == found.evaluation.crossings[0].asked


def test_a_duplicate_of_a_call_that_is_given_up_first_does_not_land(play: Play) -> None:
    evaluation = play(hurries, "service:slow[1] test/twice").evaluation

    assert (len(evaluation.effective), evaluation.acted) == (0, -1)
