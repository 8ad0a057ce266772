"""`chaosagent compare`: what changed from one study to another."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

NOT_WORSE, WORSE, UNDETERMINED = 0, 1, 3


@click.command()
@click.argument("first", type=click.Path(path_type=Path), metavar="A")
@click.argument("second", type=click.Path(path_type=Path), metavar="B")
@click.option(
    "--replay",
    "by_replay",
    is_flag=True,
    help="Run on A's target and configuration what A did not search for: if it holds there, it is new; if it breaks "
    "there as well, A missed it. Refused if the code is no longer that of A.",
)
@click.option(
    "--target",
    metavar="TARGET",
    help="With --replay: where the target of A is now, such as in an older checkout; by default where it was.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Also draw R(B) of both in one figure: .svg, .png or .pdf; may be given several times.",
)
@click.option(
    "--markdown",
    type=click.Path(path_type=Path),
    metavar="FILE.md",
    help="Write the verdict and what differs as Markdown there, too, for a comment on a change.",
)
@json_flag
def compare(
    first: Path,
    second: Path,
    *,
    by_replay: bool,
    target: str | None,
    out: tuple[Path, ...],
    markdown: Path | None,
    json: bool,
) -> int:
    """Say what changed from one stored study to another: two nights, two configurations, two versions of an agent.

    A is the folder of the earlier study, or its study file; B is that of the later one.

    Each search of a task, seed and contract that both have is compared. A counterexample of B is `new`, or `cheaper`,
    only where A had proved that nothing so cheap breaks the contract; it is `gone`, or `more expensive`, only where B
    proves it. Where one study did not search so far, it is `not comparable`. What only one of them has, such as tasks,
    operators or a higher budget, is listed and not compared.

    Exit code: 1 something is new or cheaper, 0 nothing is, 3 it cannot be determined, 2 a folder holds no study that
    can be read.

    \b
    Examples:
      chaosagent compare chaosagent-out/monday chaosagent-out/tuesday
      chaosagent compare chaosagent-out/triage-naive chaosagent-out/triage-hardened --replay
      chaosagent compare monday tuesday --replay --target ../monday/agent.py:agent
      chaosagent compare main branch --json > changes.json
      chaosagent compare chaosagent-out/monday chaosagent-out/tuesday --out both.svg
      chaosagent compare before after --markdown comment.md
      chaosagent compare nights/monday study.yaml
    """
    from chaosagent.api.stored.comparing import compare_studies
    from chaosagent.api.stored.comparison_page import comparison_json, comparison_markdown, comparison_page
    from chaosagent.api.stored.curve_figure import FIGURES, draw_curves
    from chaosagent.api.stored.curves import curves_of
    from chaosagent.cli.status import folder_of
    from chaosagent.errors import UsageError

    if target is not None and not by_replay:
        raise UsageError(f"--target {target}: only --replay runs a target. Give --replay too, or leave --target out.")
    for path in out:
        if path.suffix.lower() not in FIGURES:
            raise UsageError(f"--out {path}: the name must end in {', '.join(FIGURES)}.")
        output.check_place(path)
    if markdown is not None:
        output.check_place(markdown)
    earlier, later = folder_of(first), folder_of(second)
    compared = compare_studies(earlier, later, by_replay=by_replay, target=target)
    if out:
        draw_curves([curves_of(earlier), curves_of(later)], out)
    if markdown is not None:
        markdown.write_text(comparison_markdown(compared), encoding="utf-8")
    if json:
        output.answer_json(comparison_json(compared))
    else:
        output.answer(comparison_page(compared))
    if compared.comparison.worse:
        return WORSE
    return UNDETERMINED if compared.comparison.undetermined else NOT_WORSE
