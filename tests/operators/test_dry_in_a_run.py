"""What dry application claims to know of an operator is what happens in a run."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.canonical import DEPTH_MAX, Plain, plain, unpack
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.faults.dry import Deviation, DryKind, DryOutcome, apply_dry, pack_request, pack_response
from chaosagent.faults.injection import hook_at, inject
from chaosagent.faults.operator import OPERATORS, Operator, lattice
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.limits import RunLimits
from chaosagent.operators.fields import depth_of
from chaosagent.operators.service.dropped_response import DroppedResponse
from chaosagent.targets.target import Door, Run, target
from chaosagent.testing.crossings import FakeCrossing, Sample, play, samples
from chaosagent.testing.strategies import plain_data, values
from chaosagent.trace.step import Step, StepKind
from chaosagent.vocabulary import Boundary, Landing, Outcome, SystemConfig, Task

SEED = 3
LIMITS = RunLimits(virtual_seconds_max=1e9)
"""More than any wait: what ends a run is not known of a crossing."""


class Call(NamedTuple):
    """One call of the target, and how the world takes it.

    Attributes:
        request: What is asked.
        answer: What the world answers.
        seconds: After how long.
        is_failing: It raises instead.
    """

    request: Request
    answer: Plain
    seconds: float
    is_failing: bool


@dataclass
class World:
    """Answers the calls of one run in their order; what is asked once more is answered as the call before.

    Attributes:
        calls: What the target asks.
        asked: Every request that arrived.
        turn: Which call the target is at.
    """

    calls: Sequence[Call]
    asked: list[tuple[int, bytes]] = field(default_factory=list)
    turn: int = -1

    async def __call__(self, operation: str, /, **arguments: Plain) -> Plain:
        """Answer."""
        call = self.calls[self.turn]
        self.asked.append((self.turn, pack_request(Request(operation, arguments))))
        if call.seconds:
            await asyncio.sleep(call.seconds)
        if call.is_failing:
            raise ConnectionError("broken")
        return plain(call.answer)


def _door(run: Run, boundary: Boundary, world: World, *, read_only: bool) -> Door:
    if boundary is Boundary.SERVICE:
        return run.service("it", world, read_only=read_only)
    if boundary is Boundary.PROMPT:
        return run.prompt("it")
    opened: dict[Boundary, Any] = {
        Boundary.RETRIEVAL: run.retrieval,
        Boundary.MEMORY: run.memory,
        Boundary.MODEL: run.model,
        Boundary.TOOLS: run.tools,
        Boundary.MESSAGE: run.message,
    }
    return cast(Door, opened[boundary]("it", world))


def _run(boundary: Boundary, calls: Sequence[Call], delta: Schedule, *, read_only: bool) -> tuple[Execution, World]:
    world = World(calls)

    @target(name="sequence", tasks=[Task("sequence")])
    async def sequence(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # the protocol's
        """Make some calls, one after the other, whatever comes back."""
        door = _door(run, boundary, world, read_only=read_only)
        with run.agent("planner"):
            for turn, call in enumerate(calls):
                world.turn = turn
                try:
                    await door(call.request.operation, **call.request.arguments)
                except Exception:  # an agent that shrugs
                    continue
        return Outcome("done", success=True)

    experiment = Experiment(sequence, sequence.task("sequence"), SystemConfig(), SEED, limits=LIMITS)
    return execute(experiment, delta), world


class Case(NamedTuple):
    """An operator, some calls, and at which of them it acts."""

    operator: Operator
    calls: list[Call]
    position: int


@functools.cache
def _cases(kind: type[Operator], boundary: Boundary) -> st.SearchStrategy[Case]:
    """Return a strategy for cases, half of them such that the operator is known to act."""
    acting = [
        (operator, sample) for operator in lattice(kind) for sample in samples(boundary) if _acts(operator, sample)
    ]
    exchanges = [Exchange(sample.request, sample.answer) for sample in samples(boundary)]
    known = st.sampled_from(exchanges)
    exchange = known | st.builds(lambda one, value: one._replace(response=Response(value)), known, plain_data())
    call = st.builds(functools.partial(_call, boundary), exchange, st.sampled_from([0.0, 0.0, 2.5]))
    operator = st.builds(kind, **{name: values(domain) for name, domain in kind.parameters.items()})
    anything = st.lists(call, min_size=1, max_size=4).flatmap(
        lambda calls: st.builds(Case, operator, st.just(calls), st.integers(0, len(calls) - 1))
    )
    return st.sampled_from(acting).map(lambda pair: _case(boundary, *pair)) | anything


def _acts(operator: Operator, sample: Sample) -> bool:
    crossing = FakeCrossing(sample)
    response = play(operator, crossing)
    is_plain = crossing.calls == [sample.request] and not crossing.waits and not crossing.deferred
    return not is_plain or pack_response(response) != pack_response(sample.answer)


def _case(boundary: Boundary, operator: Operator, sample: Sample) -> Case:
    exchanges = [*sample.history, Exchange(sample.request, sample.answer)]
    return Case(operator, [_call(boundary, exchange, 0.0) for exchange in exchanges], len(sample.history))


def _call(boundary: Boundary, exchange: Exchange, seconds: float) -> Call:
    request, (value, failure) = exchange
    if boundary is Boundary.PROMPT:  # its world hands on what it is given
        text = value if depth_of(value) < DEPTH_MAX else None
        return Call(Request("read", {"text": text}), text, 0.0, is_failing=False)
    return Call(request, value, seconds, is_failing=failure is not None)


CASES = [
    pytest.param(name, boundary, id=f"{name} at {boundary.value}")
    for name in OPERATORS
    for boundary in sorted(OPERATORS.get(name).boundaries, key=lambda each: each.value)
    if boundary is not Boundary.NETWORK  # what comes of a disturbed connection is never claimed to be known
]


@pytest.mark.parametrize("name", [name for name in OPERATORS if Boundary.NETWORK in OPERATORS.get(name).boundaries])
def test_nothing_is_claimed_to_be_known_of_a_disturbed_connection(name: str) -> None:
    for operator in lattice(OPERATORS.get(name)):
        for sample in samples(Boundary.NETWORK):
            recorded = sample.recorded()
            assert apply_dry(operator, recorded[-1], recorded, SEED).kind is DryKind.UNPREDICTABLE


@pytest.mark.slow
@pytest.mark.parametrize(("name", "boundary"), CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_run_goes_as_dry_application_says(name: str, boundary: Boundary, data: st.DataObject) -> None:
    case = data.draw(_cases(OPERATORS.get(name), boundary))
    _check(case, boundary, read_only=data.draw(st.booleans()))


def test_what_stays_away_for_as_long_as_a_run_usually_may_take_is_known_too() -> None:
    late = Call(Request("get", {}), 1, 2.5, is_failing=False)

    _check(Case(DroppedResponse(7 * 86_400.0), [late], 0), Boundary.SERVICE, read_only=False)


def _check(case: Case, boundary: Boundary, *, read_only: bool) -> None:
    operator, calls, position = case
    nominal, _ = _run(boundary, calls, EMPTY, read_only=read_only)
    crossings = nominal.evaluation.crossings
    hook = hook_at(crossings[position].place)

    outcome = apply_dry(operator, crossings[position], crossings, SEED)
    execution, world = _run(boundary, calls, schedule([inject(hook, operator)]), read_only=read_only)

    (step,) = [one for one in execution.trace.steps if one.kind is StepKind.CALL and one.occurrence == hook.first]
    if outcome.kind is DryKind.KNOWN:
        _check_known(outcome, step, _asked_in(boundary, world, position))
    elif outcome.kind is DryKind.REQUEST_CHANGED:
        _, changed = cast("tuple[str, bytes]", unpack(outcome.key))
        assert _asked_in(boundary, world, position) in (None, [changed])
    else:
        assert _reaches_the_world_later_or_twice(type(operator), boundary), "all others can always be known here"
    here = crossings[position]
    assert [act.position for act in execution.evaluation.acts] == [
        at for at in [outcome.deviation.position(here.asked, here.answered)] if outcome.deviation is not Deviation.NEVER
    ]


@functools.cache
def _reaches_the_world_later_or_twice(kind: type[Operator], boundary: Boundary) -> bool:
    """Whether it does so on some crossing; what the world then answers, or when, is in no recording."""
    for operator in lattice(kind):
        for sample in samples(boundary):
            crossing = FakeCrossing(sample)
            play(operator, crossing)
            if crossing.deferred or len(crossing.calls) > 1:
                return True
    return False


def _asked_in(boundary: Boundary, world: World, position: int) -> list[bytes] | None:
    """Return what reached the world in one call; a door to a prompt has no world that could tell."""
    return None if boundary is Boundary.PROMPT else [request for turn, request in world.asked if turn == position]


def _check_known(outcome: DryOutcome, step: Step, asked: list[bytes] | None) -> None:
    executed, response, arrives, waits = cast("tuple[int, bytes, float, list[float]]", unpack(outcome.key))
    assert step.response == response
    assert step.arrived_at == pytest.approx(arrives + sum(waits), abs=1e-9)
    assert asked is None or asked == [step.request] * executed
    assert step.landed is not None
    assert (step.landed.landing is Landing.LANDED) == (not outcome.no_op)
