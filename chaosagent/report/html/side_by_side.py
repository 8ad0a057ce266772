"""A run under faults beside the run without, step by step."""

from __future__ import annotations

from collections.abc import Container, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from chaosagent.canonical import Plain, unpack
from chaosagent.report.causes.calls import Call, Calls, is_call
from chaosagent.report.html.value_difference import Difference, differences_between
from chaosagent.report.printable import printable
from chaosagent.report.story import compact, describe_effect
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Landing, Mediation

REQUEST_MAX, ANSWER_MAX = 300, 400
QUIET_MAX = 90
"""Of calls that are equal, or whose differences are listed, so many characters are shown of request and answer."""
RANK_OF_REST = 3
WHOLE_MAX = 12
DIFFERENCES_MAX = 4
ROWS_MAX = 80
CELLS_MAX = 250_000
"""Runs with more pairs of steps than this are aligned by difflib, which is faster and may align less."""


class Side(NamedTuple):
    """One step of one of the runs: its hook, what was asked, what came back, and whether that is a failure."""

    hook: str
    asked: str
    told: str
    is_failure: bool = False


class Row(NamedTuple):
    """A line of the comparison.

    Attributes:
        step: Index of the step under faults; `None` where there is none.
        here: The step under faults.
        there: The step without; `None` where there is none.
        is_equal: Both are equal.
        is_first: It is the first difference.
        injected: What was injected here.
        decided: What the mediator decided other than to allow.
        committed: Effects of this step.
        broken: How the contract is broken here.
        skipped: This line stands for so many calls, none of which is shown; `is_equal` if all of them are.
        at: Virtual seconds.
        differences: Where request and answer differ from those without faults.
        retried: What a client behind the door has sent again by itself.
    """

    step: int | None
    here: Side | None
    there: Side | None
    is_equal: bool = False
    is_first: bool = False
    injected: str = ""
    decided: str = ""
    committed: tuple[str, ...] = ()
    broken: str = ""
    skipped: int = 0
    at: str = ""
    differences: tuple[Difference, ...] = ()
    retried: tuple[str, ...] = ()


def rows_of(trace: Trace, nominal: Calls | None, contract: str) -> list[Row]:
    """Return a run beside the run without faults; a row stands for each stretch of calls that is left out.

    What is injected, decided, committed and broken is shown before all else, and so is the first difference.

    Args:
        trace: Of the run under faults.
        nominal: The calls of the run without; `None` where they are not known.
        contract: That is broken.
    """
    violation = trace.verdict(contract).violation
    broken_at = -1 if violation is None else violation.step
    pairs = _aligned(trace.steps, nominal or ())
    equal = [nominal is None or _is_equal(step, call) for step, call in pairs]
    first = equal.index(False) if False in equal else -1
    retried: dict[str, tuple[str, ...]] = {}
    for retry in trace.retries:
        retried[retry.hook] = (*retried.get(retry.hook, ()), str(retry))
    rank = [_rank(step, broken_at, retried, is_first=place == first) for place, (step, _) in enumerate(pairs)]
    rows: list[Row] = []
    before = -1
    for place in [*_shown(equal, rank), len(pairs)]:
        left_out = equal[before + 1 : place]
        if left_out:
            rows.append(Row(None, None, None, is_equal=all(left_out), skipped=len(left_out)))
        if place < len(pairs):
            step, call = pairs[place]
            reason = violation.reason if violation and step is not None and step.index == broken_at else ""
            row = _row(step, call, reason, is_equal=equal[place])
            again = () if step is None else retried.get(step.hook, ())
            rows.append(row._replace(is_first=place == first, retried=again))
        before = place
    return rows


def _is_equal(step: Step | None, call: Call | None) -> bool:
    if step is None:
        return False
    if not is_call(step):
        return step.landed is None and not step.effects
    return call is not None and _is_same(step, call)


def _rank(step: Step | None, broken_at: int, retried: Container[str], *, is_first: bool) -> int:
    """Return how much a reader needs a line: 0 most, `RANK_OF_REST` like any other."""
    if is_first or (step is not None and step.index == broken_at):
        return 0
    if step is None:
        return RANK_OF_REST
    if step.landed is not None:
        return 1
    is_loud = step.effects or step.decision.mediation is not Mediation.ALLOW or step.hook in retried
    return 2 if is_loud else RANK_OF_REST


def _shown(equal: Sequence[bool], rank: Sequence[int]) -> list[int]:
    """Return which lines are shown."""
    count = len(equal)
    if count <= WHOLE_MAX:
        return list(range(count))
    loud = [place for place in range(count) if not equal[place] or rank[place] < RANK_OF_REST]
    if len(loud) > ROWS_MAX:
        return sorted(sorted(loud, key=lambda place: (rank[place], place))[:ROWS_MAX])
    around = {near for place in loud for near in (place - 1, place, place + 1) if 0 <= near < count}
    shown = {0, count - 1, *around}
    return sorted(shown if len(shown) <= ROWS_MAX else loud)


def _row(step: Step | None, call: Call | None, broken: str, *, is_equal: bool) -> Row:
    row = Row(
        None if step is None else step.index,
        None if step is None else _side_of(step),
        None if call is None else _side_in(call),
        is_equal=is_equal,
    )
    if step is None:
        return row
    row = _with_events(row, step, broken)
    if call is not None and not is_equal:
        row = _with_differences(row, step, call)
    return _shortened(row) if _is_quiet(row) or row.differences else row


def _with_events(row: Row, step: Step, broken: str) -> Row:
    landed, decision = step.landed, step.decision
    injected = "" if landed is None else f"{landed.operator}: {landed.description}"
    if landed is not None and landed.landing is not Landing.LANDED:
        injected = f"{injected} (without any change)"
    decided = ""
    if decision.mediation is not Mediation.ALLOW:
        decided = f"{'blocked' if decision.mediation is Mediation.BLOCK else 'rewritten'}: {decision.reason}"
    return row._replace(
        injected=injected,
        decided=decided,
        committed=tuple(describe_effect(effect) for effect in step.effects),
        broken=broken,
        at=f"{step.arrived_at:g} s",
    )


def _with_differences(row: Row, step: Step, call: Call) -> Row:
    """Say where two calls differ, as what is cut out of long values may be just that."""
    asked, told = _unpacked(call.request), _unpacked(call.response)
    found = differences_between(_unpacked(step.request)[1], asked[1], "request") if len(asked) > 1 else []
    if step.failure is None and step.kind is StepKind.CALL and told and not (len(told) > 1 and told[1]):
        found += differences_between(step.answer, told[0], "answer")
    return row._replace(differences=tuple(found[:DIFFERENCES_MAX]))


def _unpacked(data: bytes) -> Sequence[Plain]:
    value = unpack(data) if data else ()
    return value if isinstance(value, list | tuple) else ()


def _is_same(step: Step, call: Call) -> bool:
    return step.request == call.request and step.response == call.response


def _aligned(steps: Sequence[Step], nominal: Calls) -> list[tuple[Step | None, Call | None]]:
    """Pair steps with calls of the run without faults, in order, so that the pairs are as alike as possible."""
    calls = [step for step in steps if is_call(step)]
    pairs = {step.index: call for step, call in _pairs(calls, nominal)}
    listed: list[tuple[Step | None, Call | None]] = []
    place = {id(call): number for number, call in enumerate(nominal)}
    following = 0
    for step in steps:
        call = pairs.get(step.index)
        if call is not None:
            listed += [(None, left) for left in nominal[following : place[id(call)]]]
            following = place[id(call)] + 1
        listed.append((step, call))
    return [*listed, *((None, left) for left in nominal[following:])]


def _pairs(steps: Sequence[Step], nominal: Calls) -> list[tuple[Step, Call]]:
    begin = 0
    while begin < min(len(steps), len(nominal)) and _is_same(steps[begin], nominal[begin]):
        begin += 1
    head = list(zip(steps[:begin], nominal[:begin], strict=True))
    rest, others = steps[begin:], nominal[begin:]
    if len(rest) * len(others) > CELLS_MAX:
        return [*head, *_by_hook(rest, others)]
    best = [[0] * (len(others) + 1) for _ in range(len(rest) + 1)]
    for i in range(len(rest) - 1, -1, -1):
        for j in range(len(others) - 1, -1, -1):
            likeness = _likeness(rest[i], others[j])
            both = best[i + 1][j + 1] + likeness if likeness else 0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(rest) and j < len(others):
        likeness = _likeness(rest[i], others[j])
        if likeness and best[i][j] == best[i + 1][j + 1] + likeness:
            head.append((rest[i], others[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return head


def _by_hook(steps: Sequence[Step], nominal: Calls) -> list[tuple[Step, Call]]:
    matcher = SequenceMatcher(None, [step.hook for step in steps], [call.hook for call in nominal], autojunk=False)
    return [
        (steps[match.a + offset], nominal[match.b + offset])
        for match in matcher.get_matching_blocks()
        for offset in range(match.size)
    ]


def _likeness(step: Step, call: Call) -> int:
    if step.request == call.request:
        return 4 if step.response == call.response else 3
    return 2 if step.hook == call.hook else 0


def _shortened(row: Row) -> Row:
    return row._replace(here=_short_side(row.here), there=_short_side(row.there))


def _short_side(side: Side | None) -> Side | None:
    if side is None:
        return None
    return side._replace(asked=_cut(side.asked, QUIET_MAX), told=_cut(side.told, QUIET_MAX))


def _is_quiet(row: Row) -> bool:
    return row.is_equal and not (row.injected or row.decided or row.committed or row.broken)


def _side_of(step: Step) -> Side:
    asked = _request(step.operation, step.arguments)
    if step.kind is StepKind.NOTE:
        return Side(step.agent, f"notes {asked}", "")
    if step.kind is StepKind.LATE:
        return Side(step.hook, asked, "reaches the world late; nobody waits for it")
    if step.kind is StepKind.CANCELLED:
        return Side(step.hook, asked, "given up before an answer came", is_failure=True)
    if step.failure is not None:
        return Side(
            step.hook, asked, _failure(step.failure.kind, step.failure.status, step.failure.message), is_failure=True
        )
    return Side(step.hook, asked, _cut(compact(step.answer), ANSWER_MAX), is_failure=bool(step.soft_error))


def _side_in(call: Call) -> Side:
    asked, told = _unpacked(call.request), _unpacked(call.response)
    arguments = asked[1] if len(asked) > 1 else {}
    text = _request(str(asked[0]) if asked else "", arguments if isinstance(arguments, dict) else {})
    if not told:
        return Side(call.hook, text, "")
    failure = told[1] if len(told) > 1 else None
    if isinstance(failure, list | tuple) and failure:
        status, message = failure[2] if len(failure) > 2 else None, str(failure[1]) if len(failure) > 1 else ""
        return Side(call.hook, text, _failure(str(failure[0]), status, message), is_failure=True)
    return Side(call.hook, text, _cut(compact(told[0]), ANSWER_MAX))


def _request(operation: str, arguments: dict[str, Plain]) -> str:
    inside = ", ".join(f"{key}={compact(value)}" for key, value in arguments.items())
    return _cut(f"{operation}({inside})", REQUEST_MAX)


def _failure(kind: str, status: object, message: str) -> str:
    number = "" if status is None else f" {status}"
    return _cut(f"{kind}{number}{f': {message}' if message else ''}", ANSWER_MAX)


def _cut(text: str, characters_max: int) -> str:
    return printable(text, characters_max=characters_max, in_the_middle=True)
