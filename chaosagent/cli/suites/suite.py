"""`chaosagent suite`: choose the records of a regression suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaosagent.api.replays.replayed import ReplayedRecord
    from chaosagent.api.suites.pruning import Removed
    from chaosagent.api.suites.suite import Suite
    from chaosagent.canonical import Plain

DONE, NOT_JUDGED = 0, 4
PER_CATEGORY, NOMINAL_MAX = 2, 1_000
OUT = Path("tests/replays")


@click.command()
@click.argument("studies", type=click.Path(path_type=Path), nargs=-1, metavar="[FOLDER|STUDY...]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=OUT,
    show_default=True,
    metavar="FOLDER",
    help="Folder of the suite.",
)
@click.option("--add", is_flag=True, help="Add to the records that are there what they do not cover.")
@click.option(
    "--prune",
    is_flag=True,
    help="First delete records that no longer land in today's target, that are copies, or that another one covers. "
    "This replays all of them.",
)
@click.option(
    "--nominal",
    type=click.IntRange(0, NOMINAL_MAX),
    default=PER_CATEGORY,
    show_default=True,
    metavar="N",
    help="How many tasks of each category are recorded without faults, too; this runs the target. 0: none.",
)
@click.option("--explain", is_flag=True, help="Say what each record covers, and what is left out.")
@click.option("--dry-run", is_flag=True, help="Say what would be added and removed; write and delete nothing.")
@json_flag
def suite(
    studies: tuple[Path, ...],
    *,
    out: Path,
    add: bool,
    prune: bool,
    nominal: int,
    explain: bool,
    dry_run: bool,
    json: bool,
) -> int:
    """Choose the fewest records that cover every broken contract and every cause, and copy them to be kept in CI.

    FOLDER|STUDY is the folder of a study, or its study file; none is needed with --prune.

    A cause counts once for each interface and operation that its faults hit. Next to each record a text file says that
    it is known and open (`expect = "violated"`), so `chaosagent replay` on the suite is green until something new
    breaks; `replay --promote` expects of what was fixed that it holds. A few tasks are also run without faults; these
    records hold as long as the task ends in the same way. All these files belong into version control.

    --prune keeps a record of which another outcome is expected, or that has another outcome today, than the one that
    covers it. One that cannot be judged stays, and the exit code is 4.

    Exit code: 0; 2 where there is nothing to choose from, records are of several targets, two records have the same
    name, or a file cannot be read; then nothing is written.

    \b
    Examples:
      chaosagent suite chaosagent-out/triage-naive --out tests/replays
      chaosagent suite chaosagent-out/tuesday --add --explain
      chaosagent suite --prune --dry-run
    """
    from chaosagent.api.suites.suite import check_free, check_reviews, records_in_suite, write_suite
    from chaosagent.cli.status import folder_of
    from chaosagent.errors import UsageError

    existing = records_in_suite(out)
    check_reviews(existing)
    if not studies and not prune:
        raise UsageError("name the folders of studies to choose records from, or --prune.")
    if prune and not existing:
        raise UsageError(f"{out} holds no record to prune. Name the suite with --out.")
    if existing and not (add or prune):
        raise UsageError(f"{out} holds a suite already. Add to it with --add, or choose another --out.")
    folders = [folder_of(path) for path in studies]
    removed, unjudged = _prune(existing) if prune else ([], [])
    gone = {one.path for one in removed}
    chosen = _choose(folders, [path for path in existing if path not in gone], nominal) if folders else None
    if chosen is not None:
        check_free(chosen, out, gone)
    if removed and not dry_run:
        _delete(removed)
    if chosen is not None and not dry_run:
        write_suite(chosen, out)
    _tell(_Told(removed, unjudged, chosen, is_done=not dry_run), out, explain=explain, json=json)
    return NOT_JUDGED if unjudged else DONE


def _choose(folders: Sequence[Path], existing: Sequence[Path], nominal: int) -> Suite:
    from chaosagent.api.suites.suite import choose_suite

    with output.stdout_for_answers():
        return choose_suite(folders, existing, per_category=nominal)


class _Told(NamedTuple):
    """What is removed and added, or would be."""

    removed: Sequence[Removed]
    unjudged: Sequence[ReplayedRecord]
    chosen: Suite | None
    is_done: bool


def _tell(told: _Told, out: Path, *, explain: bool, json: bool) -> None:
    from chaosagent.api.suites.suite_page import suite_json, suite_page

    removed, unjudged, chosen, is_done = told
    if json:
        answer: dict[str, Plain] = {
            "dry_run": not is_done,
            "removed": [{"path": str(path), "reason": reason} for path, reason in removed],
            "not_judged": [{"path": str(one.path), "reason": one.replay.detail} for one in unjudged],
        }
        output.answer_json({**({} if chosen is None else suite_json(chosen, out)), **answer})
        return
    for path, reason in removed:
        output.remark(f"{'removed' if is_done else 'would be removed:'} {path}: {reason}")
    for one in unjudged:
        output.remark(f"{one.path} could not be judged, and stays: {one.replay.detail}")
    if chosen is not None:
        output.answer(suite_page(chosen, out, explain=explain))
    elif not removed and not unjudged:
        output.remark(f"{out}: each record is needed")
    if not is_done:
        output.remark("nothing was written or deleted, as this is a dry run")


def _prune(existing: Sequence[Path]) -> tuple[list[Removed], list[ReplayedRecord]]:
    """Return which records the suite does not need, and which could not be judged."""
    from chaosagent.api.replays.replaying import records_at, replay_all
    from chaosagent.api.suites.pruning import UNJUDGED, superseded_in, without_effect

    with output.stdout_for_answers():
        reruns = replay_all(records_at(existing), mode="schedule")
    idle = without_effect(reruns)
    gone = {one.path for one in idle}
    unjudged = [one for one in reruns if one.replay.outcome in UNJUDGED]
    return [*idle, *superseded_in([one for one in reruns if one.path not in gone])], unjudged


def _delete(removed: Sequence[Removed]) -> None:
    from chaosagent.api.suites.pruning import remove_records

    remove_records(removed)
