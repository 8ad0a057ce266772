"""`chaosagent curve`: R(B) of stored studies."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from chaosagent.cli import output

DRAWN = 0
FIGURES = (".svg", ".png", ".pdf")
STUDIES_MAX = 6


class Breakdown(Enum):
    """By what R(B) is broken down."""

    CATEGORY = "category"


def curve(
    studies: Annotated[
        list[Path],
        typer.Argument(help="Folders of studies, or their study files.", metavar="FOLDER|STUDY...", show_default=False),
    ],
    *,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="File to write: .svg, .png, .pdf or .csv; may be given several times. Without it, curve.svg and "
            "curve.csv: in the folder of the study, or here for several.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        Breakdown | None,
        typer.Option(
            help="Also draw R(B) of the tasks of each category. This loads the target, and runs nothing.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Draw R(B): the share of tasks that still meet their objective when faults may cost up to B.

    Nothing is run. The curve follows from the searches against the contract `objective`: a task counts until the
    cheapest counterexample that was found; what was neither found nor proved is hatched. A second curve shows for how
    many searches each other contract survives. A study that did not search `objective` has no R(B): add it to
    `contracts` in its study file, and search with --resume, which makes no run again.

    Exit code: 0; 2 where a folder holds no study that can be read, or none of them has searched `objective`.

    [bold]Examples[/bold]

    chaosagent curve chaosagent-out/triage-naive

    chaosagent curve chaosagent-out/triage-naive --by category

    chaosagent curve chaosagent-out/triage-naive chaosagent-out/triage-hardened --out curve.pdf --out curve.csv
    """
    from chaosagent.api.stored.curve_figure import draw_curves
    from chaosagent.api.stored.curves import UNSEARCHED, curves_csv, curves_json, curves_of, curves_page
    from chaosagent.cli.status import folder_of
    from chaosagent.errors import UsageError

    wanted = [] if out is None else out
    for path in wanted:
        if path.suffix.lower() not in (*FIGURES, ".csv"):
            raise UsageError(f"--out {path}: the name must end in {', '.join(FIGURES)} or .csv.")
    if len(studies) > STUDIES_MAX:
        raise UsageError(f"{len(studies)} studies: at most {STUDIES_MAX} can be told apart in one figure. Name fewer.")
    with output.stdout_for_answers():
        found = [curves_of(folder_of(path), by_category=by is Breakdown.CATEGORY) for path in studies]
    if not any(one.robustness for one in found):
        raise UsageError(f"{studies[0]}: {UNSEARCHED}")
    if not wanted:
        place = found[0].folder if len(found) == 1 else Path()
        wanted = [place / "curve.svg", place / "curve.csv"]
    figures = [path for path in wanted if path.suffix.lower() in FIGURES]
    if figures:
        draw_curves(found, figures)
    for path in wanted:
        if path not in figures:
            path.write_text(curves_csv(found), encoding="utf-8")
    if json:
        output.answer_json({**curves_json(found), "files": [str(path) for path in wanted]})
    else:
        page = curves_page(found)
        output.answer(page.line(f"Written: {', '.join(map(str, wanted))}"))
    return DRAWN
