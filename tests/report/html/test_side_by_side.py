"""A long run beside the run without faults: what matters is shown, the rest is counted, and nothing takes long."""

from __future__ import annotations

import copy
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.report.causes.calls import Call, calls_in_trace
from chaosagent.report.html.render import page_of
from chaosagent.report.html.side_by_side import ROWS_MAX, rows_of
from chaosagent.report.html.study_facts import StudyFacts
from chaosagent.trace.step import Step
from chaosagent.trace.trace import Trace
from chaosagent.trace.upstream_retry import UpstreamRetry
from tests.report.html.conftest import HOSTILE


def lengthened(trace: Trace, before: int, after: int) -> Trace:
    """Return the trace of a double payment with so many further log entries in front of and behind the payments."""
    log, *rest = trace.steps
    steps: list[Step] = []
    for number, one in enumerate([*[log] * before, *rest, *[log] * after]):
        step = copy.copy(one)
        step.index = number
        if one is log:
            step.occurrence = number + 1
        steps.append(step)
    moved = [
        verdict
        if verdict.violation is None
        else verdict._replace(violation=verdict.violation._replace(step=verdict.violation.step + before - 1))
        for verdict in trace.verdicts
    ]
    return replace(trace, steps=tuple(steps), verdicts=tuple(moved))


@settings(deadline=None, max_examples=15)
@given(before=st.integers(1, 1000), after=st.integers(0, 1000), all_differ=st.booleans())
def test_what_matters_is_shown_and_the_rest_is_counted(
    broken: StudyFacts, before: int, after: int, *, all_differ: bool
) -> None:
    found = broken.counterexamples[0]
    assert found.calls is not None
    trace = lengthened(found.record.trace, before, after)
    log, pay = found.calls
    logged = [Call(step.hook, step.request, log.response) for step in trace.steps if step.interface == "service:log"]
    nominal = [*logged[:before], pay, *logged[before:]]
    if all_differ:
        nominal = [one._replace(response=b"\x92\x01\xc0") for one in nominal]

    rows = rows_of(trace, nominal, "at-most-once")

    assert len(rows) <= 2 * ROWS_MAX + 1
    assert sum(1 for row in rows if row.is_first) == 1
    assert sum(1 for row in rows if row.broken) == 1
    assert sum(1 for row in rows if row.injected) == 1
    assert sum(len(row.committed) for row in rows) == 2
    calls = sum(1 for row in rows if row.here and not row.skipped) + sum(row.skipped for row in rows)
    assert calls >= len(trace.steps)


def test_what_a_client_sent_again_by_itself_is_shown_at_its_call(broken: StudyFacts) -> None:
    found = broken.counterexamples[0]
    trace = lengthened(found.record.trace, 300, 300)
    hook = trace.steps[100].hook
    retried = replace(trace, retries=(UpstreamRetry(hook, HOSTILE, "status 503", 2),))

    rows = rows_of(retried, None, "at-most-once")

    (row,) = [row for row in rows if row.retried]
    assert row.step == 100
    record = replace(found.record, trace=retried)
    page = page_of(replace(broken, counterexamples=[found._replace(record=record, calls=None)]))
    assert "its client retried by itself: &lt;/script&gt;" in page
    assert HOSTILE not in page


def test_a_run_beside_itself_has_no_difference(broken: StudyFacts) -> None:
    trace = broken.counterexamples[0].record.trace

    assert all(row.is_equal for row in rows_of(trace, calls_in_trace(trace), "at-most-once"))
