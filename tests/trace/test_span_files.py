"""Files of spans are read as a stream: in all layouts, of any size, and with what is broken named."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from chaosagent.errors import UsageError
from chaosagent.trace import span_files
from chaosagent.trace.genai import run_of
from chaosagent.trace.otlp import spans_in
from chaosagent.trace.span_files import JsonText, Reading, SpanGroup, read_groups, values_in


def span(trace: int, number: int, *, root: bool = False, end: int = 2) -> dict[str, Any]:
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "parentSpanId": "" if root else f"{1:016x}",
        "name": "execute_tool refund",
        "startTimeUnixNano": str(number + 1),
        "endTimeUnixNano": str(number + end),
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def written(path: Path, *values: object) -> Path:
    path.write_text("".join(value if isinstance(value, str) else json.dumps(value) + "\n" for value in values), "utf-8")
    return path


def groups_of(path: Path, **options: Any) -> list[SpanGroup]:
    return list(read_groups([path], Reading(), **options))


def places(groups: list[SpanGroup]) -> list[tuple[str, int]]:
    return [(span.span_id[-1], span.place.line) for group in groups for span in group.spans]


LAYOUTS = {
    "lines": lambda one, two: json.dumps(one) + "\n" + json.dumps(two) + "\n",
    "lines without an end": lambda one, two: json.dumps(one) + "\n\n" + json.dumps(two),
    "indented": lambda one, two: json.dumps(one, indent=2) + "\n" + json.dumps(two, indent=2) + "\n",
    "indented, with commas": lambda one, two: json.dumps(one, indent=1) + ",\r\n" + json.dumps(two, indent=1),
    "a list": lambda one, two: json.dumps([one, two], indent=4),
    "mixed": lambda one, two: json.dumps(one, indent=4) + "\n" + json.dumps(two) + "\n",
    "half open": lambda one, two: (
        json.dumps(one).replace("[{", "[\n {", 1).replace("}]}]}]}", "}]}]}\n]}\n") + json.dumps(two)
    ),
    "with a mark of order": lambda one, two: "\ufeff" + json.dumps(one) + "\n" + json.dumps(two),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_spans_are_read_in_every_layout(tmp_path: Path, layout: Any) -> None:
    path = tmp_path / "spans.json"
    path.write_text(layout(otlp(span(0, 1)), otlp(span(0, 0, root=True))), "utf-8")

    groups = groups_of(path)

    assert [(group.trace_id[-1], [span.span_id[-1] for span in group.spans]) for group in groups] == [("1", ["2", "1"])]


def test_the_console_exporter_of_the_sdk_is_read(tmp_path: Path) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    out = io.StringIO()
    provider = sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(export.ConsoleSpanExporter(out=out)))
    tracer = provider.get_tracer("test")

    with tracer.start_as_current_span("invoke_agent desk", attributes={"gen_ai.operation.name": "invoke_agent"}):
        told = {"gen_ai.tool.name": "refund", "gen_ai.tool.call.arguments": '{"order": 7}'}
        with (
            pytest.raises(ValueError, match="gone"),
            tracer.start_as_current_span("execute_tool refund", attributes=told),
        ):
            raise ValueError("gone")
    (tmp_path / "console.json").write_text(out.getvalue(), "utf-8")
    (group,) = groups_of(tmp_path / "console.json")
    run = run_of(group.trace_id, group.spans)

    (step,) = run.trace.steps
    assert (step.hook, step.arguments) == ("service:refund[1]@desk", {"order": 7})
    assert step.failure is not None
    assert (step.failure.kind, step.failure.message) == ("ValueError", "ValueError: gone")
    assert step.arrived_at > step.asked_at > 0
    assert not run.unfinished
    assert [span.place.line for span in group.spans] == [1, out.getvalue().split("\n}\n")[0].count("\n") + 3]


def test_a_trace_may_be_spread_over_lines_and_files(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", otlp(span(0, 1), span(1, 1)), otlp(span(1, 0, root=True)))
    two = written(tmp_path / "two.jsonl", otlp(span(0, 0, root=True)), otlp(span(0, 2)))

    groups = list(read_groups([one, two], Reading()))

    assert places(groups) == [("2", 1), ("1", 1), ("3", 2), ("2", 1), ("1", 2)]


def test_a_trace_is_handed_out_a_while_after_its_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_files, "LATE_SPANS_MAX", 3)
    first = otlp(span(0, 0, root=True)), otlp(span(0, 1))
    path = written(tmp_path / "spans.jsonl", *first, *(otlp(span(1, number)) for number in range(5)), otlp(span(0, 2)))
    reading = Reading()

    stream = read_groups([path], reading)
    group = next(stream)

    assert (group.trace_id[-1], len(group.spans)) == ("1", 2)
    assert reading.spans < 8
    assert [len(group.spans) for group in stream] == [5]
    assert reading.late == 1


def test_what_is_kept_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = len(json.dumps(otlp(span(0, 1))))
    monkeypatch.setattr(span_files, "KEPT_BYTES_MAX", 3 * line)
    path = written(tmp_path / "spans.jsonl", *(otlp(span(trace, 1)) for trace in range(6)), otlp(span(5, 0, root=True)))

    groups = groups_of(path)

    assert [group.trace_id[-1] for group in groups] == list("123645")
    assert [bool(group.cut) for group in groups] == [True, True, True, False, False, False]


def test_a_trace_of_too_many_spans_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_files, "TRACE_SPANS_MAX", 2)

    (group,) = groups_of(written(tmp_path / "a.jsonl", otlp(*(span(0, number) for number in range(4)))))

    assert (len(group.spans), group.cut) == (2, "it has more than 2 spans")


BROKEN = {
    "cut off": (
        '{"resourceSpans": [{"sco\n',
        r":2: is not valid JSON: Unterminated string.*Fix or remove the line.*--skip-broken",
    ),
    "cut off behind a bracket": ('{"resourceSpans": [\n', ":2: is not valid JSON"),
    "not JSON": ("hello\n", ":2: is not valid JSON"),
    "not UTF-8": ('{"a": "\udcff"}\n', ":2: is not valid JSON: 'utf-8' codec"),
    "something else": ('{"a": 1}\n', ":2: expected OTLP with resourceSpans"),
    "a broken span": (json.dumps(otlp({"traceId": 1})) + "\n", ":2: expected"),
    "too deep": ("[" * 100_000 + "\n", ":2: nests too deeply"),
    "a long number": ('{"resourceSpans": ' + "1" * 5000 + "}\n", ":2: is not valid JSON: Exceeds the limit"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_named_or_skipped(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "spans.jsonl"
    good = json.dumps(otlp(span(0, 1))), json.dumps(otlp(span(0, 0, root=True)))
    path.write_bytes(f"{good[0]}\n{text}{good[1]}\n".encode("utf-8", "surrogateescape"))
    reading = Reading()

    with pytest.raises(UsageError, match=r"spans\.jsonl" + message):
        groups_of(path)
    (group,) = read_groups([path], reading, skip_broken=True)

    assert [span.span_id[-1] for span in group.spans] == ["2", "1"]
    assert reading.broken_count == len(reading.broken) == 1


def test_a_line_or_a_value_that_is_too_long_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_files, "VALUE_BYTES_MAX", 300)
    long = json.dumps(otlp(*[span(0, 1)] * 9))
    path = written(tmp_path / "a.jsonl", long + "\n", "{\n" + ' "a": 1,\n' * 50 + "}\n", otlp(span(0, 0, root=True)))

    found = list(values_in(path))

    assert [str(one).partition(": ")[2][:40] for one in found if isinstance(one, UsageError)] == [
        "has more than 300 bytes in one line. Fix",
        "is a value of more than 300 bytes. Fix o",
    ]
    last = found[-1]
    assert isinstance(last, JsonText)
    assert next(spans_in(last.read(), last.place)).span_id[-1] == "1"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.jsonl cannot be read: No such file"):
        groups_of(tmp_path / "gone.jsonl")
