"""Exact replay: a run in which a recorded trace answers everything outside the target."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from chaosagent.canonical import Plain
from chaosagent.errors import ChaosAgentError, TargetError
from chaosagent.execution.execute import Execution, Experiment, conduct, make_run
from chaosagent.execution.failures import RunEnded, exception_of
from chaosagent.execution.run.doors import DoorOptions, LiveDoor
from chaosagent.execution.run.live_run import STATE_MISSING, LiveRun
from chaosagent.execution.run.own_worlds import read_text
from chaosagent.execution.run.passage import Passage
from chaosagent.faults.dry import unpack_request, unpack_response
from chaosagent.faults.injection import Place
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.trace.diff import Difference
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Boundary, Ending, Landing, Mediation, Outcome


class ExactReplay(NamedTuple):
    """What came of a run that was served from a trace.

    Attributes:
        execution: The run, as far as it went.
        difference: The first request that the trace does not have; `None` when there was none.
    """

    execution: Execution
    difference: Difference | None


def serve(experiment: Experiment, trace: Trace, schedule: Schedule) -> ExactReplay:
    """Run a target against what a trace holds; nothing outside the target is called.

    Args:
        experiment: The target, with the task, configuration, seed and nominal run of the trace.
        trace: Where every answer is taken from, with its time and its place in the order.
        schedule: Under which the trace was made; what it did stands in the trace.

    Raises:
        TargetError: The target does not keep its protocol.
    """
    if trace.exceeded:
        experiment = experiment.beyond(trace.exceeded)
    run = make_run(ReplayedRun, experiment, EMPTY)
    run.take_answers_from(trace)
    return ExactReplay(conduct(experiment, run, schedule), run.difference)


class ReplayedRun(LiveRun):
    """Answers each crossing with what a trace has at its place, at the recorded time and in the recorded order.

    Attributes:
        difference: The first request that the trace does not have; `None` as long as there was none.
    """

    difference: Difference | None = None

    @property
    def is_faulty(self) -> bool:
        """Whether a call was made by now at which a fault has landed in the trace."""
        return self._is_faulty or self.loop.now >= self._faulty_since

    def take_answers_from(self, trace: Trace) -> None:
        """Serve the steps of a trace, and its judgement on the final state of the world."""
        self._outcome, self._steps, self._ending = trace.outcome, trace.steps, trace.ending
        self._detail = trace.own_detail
        self._is_faulty, self._faulty_since = False, inf
        self._known: dict[Place, Step] = {}
        self._unasked: dict[int, Step] = {}
        self._nested: dict[tuple[str, str], list[int]] = {}
        self._inside = {step.hook: step.inside for step in trace.steps if step.inside}
        self._to_be_asked: set[str] = set()
        for step in trace.steps:
            if step.inside or step.kind is StepKind.LATE:
                self._unasked[step.index] = step
                if _has_landed(step):
                    self._faulty_since = min(self._faulty_since, step.asked_at)
                if step.kind in (StepKind.CALL, StepKind.CANCELLED) and not step.attempt:
                    self._nested.setdefault((step.interface, step.agent), []).append(step.occurrence)
            elif step.kind is not StepKind.NOTE:
                self._known[_place_of(step)] = step
                self._to_be_asked.add(step.hook)
        for occurrences in self._nested.values():
            occurrences.sort()
        self._turns: dict[int, asyncio.Future[None]] = {}
        self._begun = False

    async def pass_through(self, passage: Passage) -> Plain:
        """Answer a crossing from the trace."""
        if not self._begun:
            self._begin()
        request = self._redacted(passage)
        passage.place = self._place_in_trace(passage, request)
        known = self._known.pop(passage.place, None)
        self._to_be_asked.discard(str(passage.place))
        if known is None and self._ending is Ending.STEP_LIMIT:  # the limit was reached while this call was open
            await self._turn_at(len(self._steps))
            raise RunEnded("the trace ends here")
        if known is None and self._ending is Ending.INCONCLUSIVE:  # its answer was too large, or it was still open
            await self._turn_at(len(self._steps))
            self.recorder.conclude(self._detail)
            raise RunEnded(self._detail)
        if known is None:
            asked = f"{passage.place} {passage.operation}"
            raise self._diverge(Difference(len(self.recorder.steps), "steps", "no further call there", asked))
        self._is_faulty = self._is_faulty or _has_landed(known)
        difference = _compare(known, passage, request)
        if difference is not None:
            raise self._diverge(difference)
        return await self._answer_as(known, passage)

    def note(self, kind: str, /, **facts: Any) -> None:
        self._go_on()
        super().note(kind, **facts)
        self._go_on()

    def settled(self, outcome: Outcome) -> Outcome:
        """Take the state of the world, and the judgement on it, from the trace: here the world has not acted."""
        told = self._outcome
        return replace(outcome, success=told.success, state=told.state, refused=told.refused)

    def final_state(self) -> Plain:
        """Take the state of the world from the trace, as the world has not acted; or what kept it from being found."""
        if self._ending is Ending.CRASHED and self._detail.startswith(STATE_MISSING):
            raise TargetError(self._detail)
        return self._outcome.state

    async def _answer_as(self, known: Step, passage: Passage) -> Plain:
        passage.effects, passage.soft_error = known.effects, known.soft_error
        loop = self.loop
        try:
            await self._turn_of(known)
            if known.kind is StepKind.CANCELLED:
                await self.loop.create_future()
        except asyncio.CancelledError:
            if known.kind is StepKind.CANCELLED:
                with suppress(asyncio.CancelledError):  # again, when the run ends: then its turn never comes
                    await self._turn_in_order(known)
            elif self.difference is None:
                self.difference = self._given_up(known, passage)
            if not self.recorder.full:
                self.recorder.append(passage, StepKind.CANCELLED, loop.now, landed=known.landed)
                self._go_on()
            raise
        value = unpack_response(known.response).value
        self.recorder.append(
            passage, known.kind, loop.now, told=known.response, failure=known.failure, landed=known.landed, value=value
        )
        self._go_on()
        if known.failure is not None:
            raise passage.exception or exception_of(known.failure, passage.door.options.errors)
        return value

    def _begin(self) -> None:
        """See to what nobody asks for here: what reached the world late, and what the world did behind a door."""
        self._begun = True
        for when in sorted({step.arrived_at for step in self._unasked.values()}):
            if when > self.loop.now:
                self.loop.call_at(when, self._go_on)
        self.loop.create_own_task(self._see_to_the_end())

    async def _see_to_the_end(self) -> None:
        """Write down, when the run ends, what the world had open then."""
        try:
            await self.loop.create_future()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        """Write down what nobody asks for here, as far as its time and its turn have come; then call the next."""
        recorder, now = self.recorder, self.loop.now
        while self.difference is None and not recorder.full and recorder.refused is None:
            known = self._unasked.get(len(recorder.steps))
            if known is None or known.arrived_at > now or self._is_before_its_call(known):
                break
            try:
                self._write(known)
            except RunEnded:  # with the last step; whoever asks next is told
                break
            except ChaosAgentError as error:
                recorder.refuse(error)
        turn = self._turns.pop(len(recorder.steps), None)
        if turn is not None:
            _settle(turn)

    def _is_before_its_call(self, known: Step) -> bool:
        """Whether a step lies in the world of a call that the target is still to make: it may declare links first."""
        place = known.inside
        while place in self._inside:
            place = self._inside[place]
        return place in self._to_be_asked

    def _write(self, known: Step) -> None:
        """Write down a step of the trace that nobody asks for here."""
        request, name = unpack_request(known.request), known.interface.partition(":")[2]
        door = LiveDoor(self, known.boundary or Boundary.SERVICE, name, read_text, DoorOptions(egress=known.egress))
        passage = Passage(self, door, _place_of(known), request.operation, request.arguments)
        passage.role, passage.request_bytes, passage.asked_at = known.role, known.request, known.asked_at
        passage.decision, passage.effects, passage.inside = known.decision, known.effects, known.inside
        passage.soft_error = known.soft_error
        value = unpack_response(known.response).value if known.response else None
        self.recorder.append(
            passage,
            known.kind,
            known.arrived_at,
            told=known.response,
            failure=known.failure,
            landed=known.landed,
            value=value,
        )

    async def _turn_of(self, known: Step) -> None:
        """Wait for the recorded time of a step, and until all steps before it are written down."""
        self._go_on()  # now that it was asked for, what its world did goes on, though it answers later
        if known.arrived_at > self.loop.now:
            due = self.loop.create_future()
            self.loop.call_at(known.arrived_at, _settle, due)
            await due
        if known.kind is not StepKind.CANCELLED:
            await self._turn_in_order(known)

    async def _turn_in_order(self, known: Step) -> None:
        """Wait until all steps before one are written down; some happen at the same moment."""
        self._go_on()
        while len(self.recorder.steps) < known.index:
            await self._turn_at(known.index)

    async def _turn_at(self, index: int) -> None:
        """Wait until as many steps are written down."""
        self._turns[index] = turn = self.loop.create_future()
        self._go_on()
        await turn

    def _redacted(self, passage: Passage) -> bytes:
        """Return the canonical bytes of a request as a trace holds them."""
        redactor = self.recorder.redactor
        return passage.request_bytes if redactor is None else redactor.packed(passage.request_bytes)

    def _place_in_trace(self, passage: Passage, request: bytes) -> Place:
        """Return the place at which the trace has a request.

        A trace does not tell in which order an agent asked at one moment; what it asked does.
        """
        place, now = self._place_without_nested(passage.place), self.loop.now
        known = self._known.get(place)
        if known is not None and known.request == request:
            return place
        for other, step in self._known.items():
            alike = other._replace(occurrence=place.occurrence) == place
            if alike and step.asked_at == now and step.request == request:
                return other
        return place

    def _place_without_nested(self, place: Place) -> Place:
        """Return a place as it is counted when the world, too, calls doors."""
        occurrence = place.occurrence
        for nested in self._nested.get((place.interface, place.agent), ()):
            if nested > occurrence:
                break
            occurrence += 1
        return place._replace(occurrence=occurrence)

    def _given_up(self, known: Step, passage: Passage) -> Difference:
        """Say what came in the place of what, when a call that was answered in the trace is not answered here."""
        index, asked = len(self.recorder.steps), f"{passage.place} {passage.operation}"
        if index < known.index and known.arrived_at <= self.loop.now:
            missing = self._steps[index]
            return Difference(index, "steps", f"{missing.hook} {missing.operation}", asked)
        return Difference(index, "kind", f"an answer to {asked}", "it was given up")

    def _diverge(self, difference: Difference) -> RunEnded:
        if self.difference is None:
            self.difference = difference
        self.over = True
        return RunEnded(str(difference))


def _has_landed(step: Step) -> bool:
    return step.landed is not None and step.landed.landing is Landing.LANDED


def _place_of(step: Step) -> Place:
    return Place(step.interface, step.agent, step.occurrence, step.attempt)


def _compare(known: Step, passage: Passage, request: bytes) -> Difference | None:
    """Return how a request differs from the one that a trace has at its place."""
    if known.request != request:
        expected, got = unpack_request(known.request), unpack_request(request)
        if expected.operation != got.operation:
            return Difference(known.index, "operation", expected.operation, got.operation)
        return Difference(known.index, "arguments", *_differing(expected.arguments, got.arguments))
    if known.decision.mediation is not passage.decision.mediation:
        mediation: tuple[Mediation, Mediation] = (known.decision.mediation, passage.decision.mediation)
        return Difference(known.index, "decision", mediation[0].value, mediation[1].value)
    return None


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _differing(expected: object, got: object) -> tuple[str, str]:
    """Return the arguments that differ, as text."""
    if not isinstance(expected, dict) or not isinstance(got, dict):
        return str(expected)[:300], str(got)[:300]
    names = sorted(name for name in {*expected, *got} if expected.get(name, _settle) != got.get(name, _settle))
    return (
        str({name: expected[name] for name in names if name in expected})[:300],
        str({name: got[name] for name in names if name in got})[:300],
    )
