"""The conformance suite that every operator passes, built in or a stranger's.

    from chaosagent.testing.operators import OperatorConformance

    class TestEcho(OperatorConformance):
        kind = Echo

pytest collects the class; nothing here needs pytest, so any runner that calls methods named `test_...` will do.
The operator must be registered, as an installed entry point of the group `chaosagent.operators` is.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import pack
from chaosagent.errors import UsageError
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.dry import Deviation, DryKind, DryOutcome, apply_dry, pack_request, pack_response
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.operator import CostModel, Domain, Operator, ParameterValue, lattice
from chaosagent.faults.schedule import parse, schedule
from chaosagent.testing.crossings import FakeCrossing, Sample, SilentCrossing, play, samples
from chaosagent.vocabulary import Boundary

LATTICE_MAX = 64
"""Points of one operator's lattice; each costs a search executions at every hook."""
CALLS_MAX = 8
"""Calls that one injection may make of one."""
SECONDS_MAX = 30 * 86_400.0
"""Virtual seconds that one injection may let pass or put something off."""
BYTES_FACTOR_MAX = 4
"""How many times larger an answer may become, beside `BYTES_ADDED_MAX`."""
BYTES_ADDED_MAX = 4_096
"""Bytes by which an answer may grow, beside `BYTES_FACTOR_MAX`."""
DESCRIPTION_MAX = 1_000
"""Characters of a description."""

_NAME = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
_TOO_MUCH: tuple[ParameterValue, ...] = (math.nan, math.inf, -math.inf, "x" * 100_000)


class OperatorConformance:
    """Subclass it in a test module and name the operator.

    Attributes:
        kind: The class of the operator.
        more: Crossings that it is tried on besides the usual ones; give some when it acts on special answers only.
    """

    kind: ClassVar[type[Operator]]
    more: ClassVar[Sequence[Sample]] = ()

    # ---------------------------------------------------------------- what it says of itself

    def test_its_name_can_stand_in_a_schedule(self) -> None:
        name = self.kind.name
        assert _NAME.fullmatch(name), f"name {name!r}: begin with a letter; then letters, digits and ./-_ are allowed."
        assert "." in name or "/" in name, f"name {name!r}: write `boundary.word`, or `package/name` for a plug-in."

    def test_its_docstring_explains_every_parameter(self) -> None:
        text = self.kind.__doc__ or ""
        first = text.strip().partition("\n")[0]
        # A dataclass without docstring gets its signature for one.
        written = bool(first) and not first.startswith(f"{self.kind.__name__}(")
        assert written, f"{self.kind.name} has no docstring. Say what it does, in its first line."
        for parameter in self.kind.parameters:
            assert f"{parameter}:" in text, f"The docstring of {self.kind.name} does not explain {parameter}."

    def test_it_names_the_boundaries_where_it_acts(self) -> None:
        boundaries = self.kind.boundaries
        assert isinstance(boundaries, frozenset), f"boundaries of {self.kind.name} must be a frozenset."
        assert boundaries, f"{self.kind.name} names no boundary, so it can act nowhere."
        assert all(isinstance(item, Boundary) for item in boundaries), f"{boundaries!r}: use `Boundary` members."

    def test_its_fields_are_its_parameters(self) -> None:
        kind = self.kind
        assert dataclasses.is_dataclass(kind), f"{kind.name} must be a dataclass."
        settings = getattr(kind, "__dataclass_params__")  # noqa: B009  # mypy does not know it
        assert settings.frozen, f"{kind.name} must be a frozen dataclass."
        assert settings.eq, f"{kind.name} must compare by its parameters (a dataclass with eq)."
        names = [field.name for field in dataclasses.fields(kind)]
        assert names == list(kind.parameters), f"{kind.name}: fields {names}, parameters {list(kind.parameters)}."
        assert isinstance(kind(), Operator), f"{kind.name} misses something of the protocol `Operator`."

    def test_its_defaults_lie_inside_their_domains(self) -> None:
        default = self.kind()
        for parameter, domain in self.kind.parameters.items():
            value = getattr(default, parameter)
            refusal = _refusal(self.kind.name, parameter, domain, value)
            assert refusal is None, f"{self.kind.name}: its own default is refused. {refusal}"
            checked = domain.check(self.kind.name, parameter, value)
            assert _same(checked, value), f"{self.kind.name}: default {parameter}={value!r} becomes {checked!r}."

    def test_its_lattice_is_small_and_within_bounds(self) -> None:
        for parameter, domain in self.kind.parameters.items():
            levels = domain.levels
            assert levels, f"{self.kind.name}.{parameter} has no levels, so a search can never try it."
            assert len(set(levels)) == len(levels), f"{self.kind.name}.{parameter}: a level stands twice in {levels}."
            assert domain.describe().strip(), f"{self.kind.name}.{parameter}: the domain does not describe itself."
            for level in levels:
                refusal = _refusal(self.kind.name, parameter, domain, level)
                assert refusal is None, f"{self.kind.name}: its own level is refused. {refusal}"
                checked = domain.check(self.kind.name, parameter, level)
                assert _same(checked, level), f"{self.kind.name}: level {parameter}={level!r} becomes {checked!r}."
        count = sum(1 for _ in lattice(self.kind))
        assert count <= LATTICE_MAX, f"{self.kind.name} has {count} lattice points; {LATTICE_MAX} are allowed."

    def test_it_refuses_values_out_of_bounds(self) -> None:
        for parameter, domain in self.kind.parameters.items():
            for value in _TOO_MUCH:
                message = _refusal(self.kind.name, parameter, domain, value)
                assert message is not None, f"{self.kind.name} accepts {parameter}={value!r:.40}; it must have bounds."
                named = self.kind.name in message and parameter in message
                assert named, f"The refusal {message!r:.200} must name {self.kind.name} and {parameter}."

    def test_its_magnitude_grows_with_its_strength(self) -> None:
        for operator in variants(self.kind):
            magnitude = operator.magnitude
            assert 0.0 < magnitude <= 1.0, f"{operator!r:.200} has magnitude {magnitude!r}; it must lie in (0, 1]."
        for parameter, domain in self.kind.parameters.items():
            ranked = [self.kind(**{parameter: level}).magnitude for level in domain.levels]
            assert ranked == sorted(ranked), f"{self.kind.name}: levels of {parameter} have magnitudes {ranked}."

    def test_it_costs_something(self) -> None:
        for operator in variants(self.kind):
            counted = type(operator.tokens) is int and operator.tokens >= 0
            assert counted, f"{operator!r:.200} counts {operator.tokens!r} tokens."
            assert CostModel().of(operator) > 0.0, f"{operator!r:.200} costs nothing."

    def test_it_describes_itself_in_one_line(self) -> None:
        for operator in variants(self.kind):
            line = operator.describe()
            assert line.strip(), f"{operator!r:.200} does not describe itself."
            assert line.isprintable(), f"{operator!r:.200} describes itself as {line!r:.200}: one line, readable."
            assert len(line) <= DESCRIPTION_MAX, f"{operator!r:.200}: a description of {len(line)} characters."

    def test_it_can_be_sent_to_another_process(self) -> None:
        for operator in variants(self.kind):
            try:
                copy = pickle.loads(pickle.dumps(operator))
            except (AttributeError, TypeError, pickle.PicklingError) as error:
                raise AssertionError(f"{operator!r:.200} cannot be sent to another process. {error}") from error
            assert copy == operator, f"{operator!r:.200} comes back as {copy!r:.200}."
            assert hash(copy) == hash(operator), f"{operator!r:.200} comes back with another hash."

    def test_its_text_form_can_be_read_back(self) -> None:
        boundary = min(self.kind.boundaries, key=lambda item: item.value)
        hook = Hook(f"{boundary.value}:sample", "planner", 2, 2)
        for operator in variants(self.kind):
            written = schedule([inject(hook, operator)])
            try:
                read = parse(written.text)
            except UsageError as error:
                raise AssertionError(f"{written.text!r:.200} cannot be read back. {error}") from error
            assert read == written, f"{written.text!r:.200} is read back as {read.text!r:.200}."

    # ---------------------------------------------------------------- what it does

    def test_it_survives_hostile_answers(self) -> None:
        for operator, sample in self._trials():
            response = _apply(operator, sample).response
            assert isinstance(response, Response), f"{_what(operator, sample)}: it returned {type(response).__name__}."
            try:
                pack_response(response)
            except UsageError as error:
                raise AssertionError(f"{_what(operator, sample)}: the answer is not plain data. {error}") from error
            empty = response.failure is None or response.value is None
            assert empty, f"{_what(operator, sample)}: a failure must come without a value."

    def test_it_is_pure(self) -> None:
        for operator, sample in self._trials():
            first, second = _apply(operator, sample), _apply(operator, sample)
            assert first.facts == second.facts, f"{_what(operator, sample)}: twice the same crossing, two outcomes."
            assert _dry(operator, sample) == _dry(operator, sample), f"{_what(operator, sample)}: two dry outcomes."

    def test_it_works_on_copies(self) -> None:
        for operator, sample in self._trials():
            handed = _apply(operator, sample).crossing.sample
            assert _packed(handed) == _packed(sample), (
                f"{_what(operator, sample)}: it changed the request, the answer or the history."
            )

    def test_it_waits_for_its_crossing_alone(self) -> None:
        for operator, sample in self._trials():
            crossing = FakeCrossing(sample)
            work = operator.apply(crossing, crossing.proceed)
            try:
                work.send(None)
            except StopIteration:
                continue
            except RuntimeError as error:  # there is no event loop in which it could make a timer or a task
                raise AssertionError(f"{_what(operator, sample)}: {_OWN_TIMER} {error}") from error
            work.close()
            raise AssertionError(f"{_what(operator, sample)}: {_OWN_TIMER}")

    def test_it_lets_the_agent_give_its_call_up(self) -> None:
        for operator, sample in self._trials():
            crossing = SilentCrossing(sample)
            complaint = crossing.give_up(operator)
            assert not complaint, f"{_what(operator, sample)}: {complaint}"

    def test_dry_application_tells_when_it_begins_to_act(self) -> None:
        for operator, sample in self._trials():
            acted, dry = _apply(operator, sample).began(sample), _dry(operator, sample).deviation
            assert dry in (acted, Deviation.UNCLEAR), (
                f"{_what(operator, sample)}: it begins to act {acted.value}; dry application says {dry.value}."
            )

    def test_it_declares_that_it_reads_history(self) -> None:
        declared = getattr(self.kind, "reads_history", False)
        for operator, sample in self._trials():
            reads = _apply(operator, sample).crossing.history_was_read
            assert declared or not reads, (
                f"{_what(operator, sample)}: it reads history. Write `reads_history = True` in the "
                "class, or a search takes runs for equal that are not."
            )

    def test_its_effect_is_bounded(self) -> None:
        for operator, sample in self._trials():
            applied = _apply(operator, sample)
            what = _what(operator, sample)
            size, size_before = len(pack_response(applied.response)), len(pack_response(sample.answer))
            size_max = BYTES_FACTOR_MAX * size_before + BYTES_ADDED_MAX
            assert size <= size_max, f"{what}: {size} bytes out of {size_before}; {size_max} are allowed."
            calls = len(applied.crossing.calls) + len(applied.crossing.deferred)
            assert calls <= CALLS_MAX, f"{what}: {calls} calls out of one; {CALLS_MAX} are allowed."
            waits = [seconds for seconds, _ in (*applied.crossing.waits, *applied.crossing.deferred)]
            bounded = all(0.0 <= seconds <= SECONDS_MAX for seconds in waits) and sum(waits) <= SECONDS_MAX
            assert bounded, f"{what}: it waits {waits} s; {SECONDS_MAX:g} s are allowed."

    def test_applied_dry_it_does_what_it_does(self) -> None:
        for operator, sample in self._trials():
            outcome = _dry(operator, sample)
            if outcome.kind is not DryKind.KNOWN:
                continue
            applied = _apply(operator, sample)
            waits = tuple(seconds for seconds, _ in applied.crossing.waits)
            repeated = _Repeat(len(applied.crossing.calls), waits, applied.response)
            what = _what(operator, sample)
            assert _dry(repeated, sample) == outcome._replace(reads_history=False), (
                f"{what}: dry, it does something else than on the crossing."
            )
            assert outcome.no_op == (not _changes(sample, applied)), f"{what}: no_op is {outcome.no_op}."

    def test_it_acts_on_something(self) -> None:
        for operator in lattice(self.kind):
            acted = any(_changes(sample, _apply(operator, sample)) for sample in self._samples())
            assert acted, f"{operator!r:.200} changes nothing on any crossing. Put one that it changes into `more`."

    def _samples(self) -> Iterator[Sample]:
        for boundary in sorted(self.kind.boundaries, key=lambda item: item.value):
            yield from samples(boundary)
        yield from self.more

    def _trials(self) -> Iterator[tuple[Operator, Sample]]:
        for operator in variants(self.kind):
            for sample in self._samples():
                yield operator, sample


def variants(kind: type[Operator]) -> Iterator[Operator]:
    """Yield an operator on its whole lattice, and with each parameter at the ends of its domain."""
    yield from lattice(kind)
    for parameter, domain in kind.parameters.items():
        # A domain of a stranger has neither; then the lattice must do.
        ends = (*getattr(domain, "limits", ()), *getattr(domain, "words", ()))
        for value in ends:
            yield kind(**{parameter: domain.check(kind.name, parameter, value)})


_OWN_TIMER = (
    "it waits for something else than `proceed`, `crossing.sleep` and `crossing.disturbed`. A run refuses that: an "
    "operator acts when the agent asks or when the world has answered, and at no moment of its own."
)


@dataclass(frozen=True, slots=True)
class _Applied:
    """An operator that has acted: what came out, and what it did meanwhile."""

    crossing: FakeCrossing
    response: Response

    @property
    def facts(self) -> bytes:
        """All of it, to compare."""
        crossing = self.crossing
        calls = [pack_request(request) for request in crossing.calls]
        deferred = [(seconds, pack_request(request)) for seconds, request in crossing.deferred]
        toxics = [[toxic.type, toxic.stream, toxic.attributes, count] for toxic, count in crossing.toxics]
        return pack([pack_response(self.response), calls, crossing.waits, deferred, toxics])

    def began(self, sample: Sample) -> Deviation:
        """Return when it began to act."""
        if self.crossing.deviation is not None:
            return self.crossing.deviation
        if not self.crossing.calls:
            return Deviation.ASK
        return Deviation.NEVER if pack_response(self.response) == pack_response(sample.answer) else Deviation.ANSWER


@dataclass(frozen=True, slots=True)
class _Repeat:
    """Does what an operator was seen to do; its dry outcome is what that of the operator must be."""

    name: ClassVar[str] = "testing/repeat"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset(Boundary)
    parameters: ClassVar[Mapping[str, Domain]] = {}

    call_count: int
    waits: tuple[float, ...]
    response: Response

    magnitude = 1.0
    tokens = 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        for _ in range(self.call_count):
            await proceed(crossing.request)
        for seconds in self.waits:
            await crossing.sleep(seconds)
        return self.response

    def describe(self) -> str:
        return "repeats"


def _apply(operator: Operator, sample: Sample) -> _Applied:
    crossing = FakeCrossing(sample)
    try:
        return _Applied(crossing, play(operator, crossing))
    except Exception as error:
        raise AssertionError(f"{_what(operator, sample)}: it raised {type(error).__name__}: {error}") from error


def _dry(operator: Operator, sample: Sample) -> DryOutcome:
    recorded = sample.recorded()
    return apply_dry(operator, recorded[-1], recorded, seed=0)


def _changes(sample: Sample, applied: _Applied) -> bool:
    """Whether the injection landed."""
    crossing = applied.crossing
    as_asked = [pack_request(request) for request in crossing.calls] == [pack_request(sample.request)]
    as_answered = pack_response(applied.response) == pack_response(sample.answer)
    met = any(count for _, count in crossing.toxics)
    return not (as_asked and as_answered and crossing.seconds == 0.0 and not crossing.deferred and not met)


def _packed(sample: Sample) -> bytes:
    exchanges = [[pack_request(exchange.request), pack_response(exchange.response)] for exchange in sample.history]
    stale = b"" if sample.stale is None else pack_response(sample.stale)
    return pack([pack_request(sample.request), pack_response(sample.answer), exchanges, stale])


def _refusal(name: str, parameter: str, domain: Domain, value: ParameterValue) -> str | None:
    try:
        domain.check(name, parameter, value)
    except UsageError as error:
        return str(error)
    return None


def _same(one: ParameterValue, other: ParameterValue) -> bool:
    return type(one) is type(other) and one == other


def _what(operator: Operator, sample: Sample) -> str:
    return f"{operator!r:.200} on {sample.request.operation!r} answered {sample.answer!r:.200}"
