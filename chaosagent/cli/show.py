"""`chaosagent show`: tell counterexamples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaosagent.canonical import Plain
    from chaosagent.replays.record import ReplayRecord
    from chaosagent.report.page import Page

HELD, UNREADABLE = 0, 2


@click.command()
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="PATH...")
@click.option("--all", "whole", is_flag=True, help="Show every step of the trace, with all of its request and answer.")
@click.option(
    "--spans",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE.jsonl",
    help="Write the traces there as OpenTelemetry GenAI spans, a line each; - for stdout.",
)
@click.option(
    "--textconv",
    is_flag=True,
    help="For `git diff`: print one record without its path. If it cannot be read, print why; the exit code is 0.",
)
@json_flag
def show(paths: tuple[Path, ...], *, whole: bool, spans: Path | None, textconv: bool, json: bool) -> int:
    """Tell counterexamples as a person would: the faults, what happened, what broke, and why each fault is needed.

    PATH is a replay record (*.replay), or a folder that holds some.

    Sessions of `chaosagent proxy` and runs without faults are told as recordings, since nothing broke in them. Nothing
    is run, and the target is not loaded. Of several records, the JSON object holds a list called `records`.

    \b
    Examples:
      chaosagent show chaosagent-out/triage/replays/refund-at-most-once-1f2e3d4c5b6a.replay
      chaosagent show chaosagent-out/triage/replays
      chaosagent show chaosagent-out/triage/replays --spans spans.jsonl
    """
    from chaosagent.errors import UsageError
    from chaosagent.replays.store import find_records, read_record
    from chaosagent.report.story import story_json

    if textconv:
        if len(paths) != 1 or spans is not None or json:
            raise UsageError("--textconv is for one file, and goes with neither --spans nor --json.")
        output.answer(_page_for_git(paths[0], whole=whole))
        return HELD
    found = find_records(paths)
    if spans is not None:
        return _export(found, spans)
    if len(paths) == 1 and not paths[0].is_dir():
        record = read_record(paths[0])
        if json:
            output.answer_json(story_json(record))
        else:
            output.answer(_page_of(record, paths[0], whole=whole))
        return HELD
    return _show_each(found, whole=whole, json=json)


def _page_of(record: ReplayRecord, path: Path, *, whole: bool) -> Page:
    from chaosagent.report.recordings import record_story

    return record_story(record, path, whole=whole)


def _page_for_git(path: Path, *, whole: bool) -> Page:
    """Return what a record tells, or why it cannot be read, without the name that git gives its copy of the file."""
    from chaosagent.errors import RecordError
    from chaosagent.replays.store import read_record
    from chaosagent.report.page import Page
    from chaosagent.report.recordings import record_story

    try:
        return record_story(read_record(path), whole=whole)
    except RecordError as error:
        return Page().line(str(error).replace(str(path), "this record"))


def _export(paths: Sequence[Path], spans: Path) -> int:
    """Write the traces of records as spans, in lines as the Collector's file exporter writes them."""
    from chaosagent.replays.store import read_record
    from chaosagent.trace.spans import export_line

    records = (read_record(path) for path in paths)
    lines = (export_line(record.trace, record.target_name) for record in records)
    if spans == Path("-"):
        for line in lines:
            output.answer_json_line(line)
        return HELD
    with spans.open("w", encoding="utf-8") as file:
        count = sum(1 for line in lines if file.write(f"{line}\n"))
    output.remark(f"{spans}: {count} traces written" if count != 1 else f"{spans}: one trace written")
    return HELD


def _show_each(paths: Sequence[Path], *, whole: bool, json: bool) -> int:
    """Tell several records; one that cannot be read is told, and does not keep the others from being told."""
    from chaosagent.errors import RecordError
    from chaosagent.replays.store import read_record
    from chaosagent.report.page import Page, bad
    from chaosagent.report.story import story_json

    page, code = Page(), HELD
    told: list[Plain] = []
    for number, path in enumerate(paths):
        if number:
            page.gap().line()
        try:
            record = read_record(path)
        except RecordError as error:
            code = UNREADABLE
            page.line(bad(str(error)))
            told.append({"path": str(path), "error": str(error)})
            continue
        if json:
            told.append({"path": str(path), **story_json(record)})
        else:
            page.add(_page_of(record, path, whole=whole))
    if json:
        output.answer_json({"records": told})
    else:
        output.answer(page)
    return code
