"""`chaosagent curve`: R(B) of stored studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

if TYPE_CHECKING:
    from chaosagent.api.session import WorkerSettings
    from chaosagent.api.stored.curves import StudyCurves
    from chaosagent.canonical import Plain
    from chaosagent.report.page import Page

DRAWN, CONTRADICTED, INTERRUPTED = 0, 1, 130
STUDIES_MAX = 6


@click.command()
@click.argument("studies", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FOLDER|STUDY...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="File to write: .svg, .png, .pdf or .csv; may be given several times. Without it, curve.svg and curve.csv: in "
    "the folder of the study, or here for several.",
)
@click.option(
    "--by",
    type=click.Choice(["category"]),
    help="Also draw R(B) of the tasks of each category. This loads the target.",
)
@click.option(
    "--random",
    "draws",
    type=click.IntRange(1, 10_000),
    metavar="DRAWS",
    help="Also run so many random schedules for each task, seed and 11 budgets. They are kept in the folder: a run "
    "that was made is not made again, and later curves show them, too.",
)
@click.option(
    "--over-time",
    is_flag=True,
    help="Draw how R(B) went from one study to the next, such as night by night, in what all of them have searched. "
    "Runs nothing.",
)
@click.option("--workers", type=click.IntRange(1), help="Worker processes for runs; without it, this process.")
@click.option("--no-runs", is_flag=True, help="Run nothing: draw what is stored.")
@json_flag
def curve(
    studies: tuple[Path, ...],
    *,
    out: tuple[Path, ...],
    by: str | None,
    draws: int | None,
    over_time: bool,
    workers: int | None,
    no_runs: bool,
    json: bool,
) -> int:
    """Draw R(B): the share of tasks that still meet their objective when faults may cost up to B.

    FOLDER|STUDY is the folder of a study, or its study file.

    The curve follows from the searches against the contract `objective`: a task counts until the cheapest
    counterexample that was found; what was neither found nor proved is hatched. A second curve shows for how many
    searches each other contract survives. With --random, a third one shows the success under random schedules.

    Where a study did not search `objective`, these searches are added first, in the folder `objective` within that of
    the study, with its settings; what will be searched is said before. Ctrl-C ends them, and the same command goes on.

    Exit code: 0; 1 a random schedule breaks what was proved; 2 where a folder holds no study that can be read, or there
    is no R(B) to draw; 130 interrupted.

    \b
    Examples:
      chaosagent curve chaosagent-out/triage-naive
      chaosagent curve chaosagent-out/triage-naive --random 20 --workers 8
      chaosagent curve chaosagent-out/triage-naive --by category
      chaosagent curve chaosagent-out/triage-naive chaosagent-out/triage-hardened --out curve.pdf --out curve.csv
      chaosagent curve --over-time nights/*
    """
    from chaosagent.api.session import WorkerSettings
    from chaosagent.api.stored.curves import curves_of
    from chaosagent.cli.status import folder_of

    _check(studies, out, draws, by, no_runs=no_runs, over_time=over_time)
    folders = [folder_of(path) for path in studies]
    workforce = WorkerSettings("inline" if workers is None else "process", workers)
    for folder in () if no_runs or over_time else folders:
        if not _add_searches(folder, workforce):
            return INTERRUPTED
        if draws is not None:
            _run_random(folder, draws, workforce)
    with output.stdout_for_answers():
        found = [curves_of(folder, by_category=by is not None) for folder in folders]
    if over_time:
        _answer_trend(found, out, json=json)
    else:
        _answer_curves(found, out, json=json, no_runs=no_runs)
    return CONTRADICTED if any(one.contradictions for one in found) else DRAWN


def _check(
    studies: Sequence[Path],
    out: Sequence[Path],
    draws: int | None,
    by: str | None,
    *,
    no_runs: bool,
    over_time: bool,
) -> None:
    """Refuse what cannot be drawn, before anything is read or run."""
    from chaosagent.api.stored.curve_figure import FIGURES
    from chaosagent.errors import UsageError

    for path in out:
        if path.suffix.lower() not in (*FIGURES, ".csv"):
            raise UsageError(f"--out {path}: the name must end in {', '.join(FIGURES)} or .csv.")
    for path in out:
        output.check_place(path)
    if over_time and by is not None:
        raise UsageError("--over-time and --by: a trend has no categories. Leave one of them out.")
    if len(studies) > STUDIES_MAX and not over_time:
        raise UsageError(
            f"{len(studies)} studies: at most {STUDIES_MAX} can be told apart in one figure. Name fewer, or draw the "
            "trend with --over-time."
        )
    if draws is not None and (no_runs or over_time):
        option = "--no-runs" if no_runs else "--over-time"
        raise UsageError(f"{option} and --random: the one runs nothing, the other does. Leave one of them out.")


def _answer_curves(found: Sequence[StudyCurves], out: Sequence[Path], *, json: bool, no_runs: bool) -> None:
    from chaosagent.api.stored.curve_figure import draw_curves
    from chaosagent.api.stored.curves_page import curves_csv, curves_json, curves_page
    from chaosagent.errors import UsageError

    if not any(one.robustness or one.random for one in found):
        raise UsageError(
            f"{found[0].folder} did not search the contract 'objective', so there is no R(B). "
            + ("Leave --no-runs out, and the searches are added." if no_runs else "Nothing of that could be searched.")
        )
    place = found[0].folder if len(found) == 1 else Path()
    paths = out or [place / "curve.svg", place / "curve.csv"]
    _write(paths, lambda figures: draw_curves(found, figures), lambda: curves_csv(found))
    _answer(curves_page(found), curves_json(found), paths, json=json)


def _answer_trend(found: Sequence[StudyCurves], out: Sequence[Path], *, json: bool) -> None:
    from chaosagent.api.stored.curve_figure import draw_trend
    from chaosagent.api.stored.trend import trend_csv, trend_json, trend_of, trend_page

    trend = trend_of(found)
    paths = out or [Path("trend.svg"), Path("trend.csv")]
    _write(paths, lambda figures: draw_trend(trend, figures), lambda: trend_csv(trend))
    _answer(trend_page(trend), trend_json(trend), paths, json=json)


def _write(paths: Sequence[Path], draw: Callable[[Sequence[Path]], None], table: Callable[[], str]) -> None:
    figures = [path for path in paths if path.suffix.lower() != ".csv"]
    if figures:
        draw(figures)
    for path in paths:
        if path not in figures:
            path.write_text(table(), encoding="utf-8")


def _answer(page: Page, data: Mapping[str, Plain], paths: Sequence[Path], *, json: bool) -> None:
    if json:
        output.answer_json({**data, "files": [str(path) for path in paths]})
    else:
        output.answer(page.line(f"Written: {', '.join(map(str, paths))}"))


def _add_searches(folder: Path, workforce: WorkerSettings) -> bool:
    """Search a study against the objective where it did not; return whether that has come to its end."""
    from chaosagent.api.stored.further_study import OBJECTIVE_FOLDER, further_study, lacks_objective
    from chaosagent.cli.session import run_study
    from chaosagent.study.store.files import FILE_NAME

    if not lacks_objective(folder):
        return True
    study, further = further_study(folder), folder / OBJECTIVE_FOLDER
    is_begun = (further / FILE_NAME).exists()
    output.remark(
        f"chaosagent: {folder} did not search the contract 'objective'. It is searched "
        f"{'further' if is_begun else 'now'}, with the settings of the study, in {further}; Ctrl-C ends this, and the "
        "same command goes on. --no-runs draws what is stored."
    )
    findings = run_study(study, further, workforce, title=f"{folder.name}, objective", resume=is_begun)
    return not findings.result.interrupted


def _run_random(folder: Path, draws: int, workforce: WorkerSettings) -> None:
    from chaosagent.api.stored.random_runs import RandomSchedules
    from chaosagent.cli.session import sigterm_as_interrupt

    schedules = RandomSchedules(folder, draws)
    output.remark(
        f"chaosagent: at most {schedules.most:,} runs under random schedules, kept in {schedules.folder}; Ctrl-C ends "
        "this, and the same command goes on."
    )
    with sigterm_as_interrupt(), output.stdout_for_answers():
        schedules.run(workforce, lambda line: output.remark(f"chaosagent: {line}"))
