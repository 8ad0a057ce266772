"""`chaosagent import`: recorded conversations as a target."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag


@click.command("import")
@click.argument("logs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="LOGS...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("recorded"),
    show_default=True,
    metavar="FOLDER",
    help="Where to write; made if it does not exist.",
)
@click.option("--skip-broken", is_flag=True, help="Leave out what cannot be used.")
@json_flag
def import_logs(logs: tuple[Path, ...], *, out: Path, skip_broken: bool, json: bool) -> int:
    """Make a target of recorded conversations: no model and no tool is called when it is searched.

    LOGS are files of conversations in the form of OpenAI's chat messages: one a line, a list of them, or one alone.

    Each conversation is a task. The model says what it said when the conversation was the same up to there, ids of
    calls apart; a tool answers what it answered to the same call in that turn, or in the latest one before it. A run
    that leaves what was recorded is inconclusive: what was broken before counts, and nothing is proved beyond the
    cheapest such run.

    Writes conversations.jsonl, conversations.yaml, in which you say what the tools commit, and study.yaml. Nothing is
    overwritten. The conversations are kept as they are, with all that is in them.

    \b
    Example:
      chaosagent import logs.jsonl --out desk && chaosagent search desk/study.yaml
    """
    from chaosagent.adapters.recorded.imported import LEFT_OUT_SHOWN_MAX, import_conversations
    from chaosagent.report.page import Page
    from chaosagent.report.story import quantity

    done = import_conversations(logs, out, skip_broken=skip_broken)
    if json:
        output.answer_json(
            {
                "written": [str(path) for path in done.written],
                "conversations": [one.id for one in done.conversations],
                "left_out": list(done.left_out),
            }
        )
        return 0
    page = Page()
    page.line(f"{quantity(len(done.conversations), 'conversation').capitalize()} imported")
    page.line("Written: " + ", ".join(str(path) for path in done.written))
    if done.left_out:
        page.line(f"Left out: {quantity(len(done.left_out), 'conversation')}")
        for text in done.left_out[:LEFT_OUT_SHOWN_MAX]:
            page.line(f"  {text}")
        if len(done.left_out) > LEFT_OUT_SHOWN_MAX:
            page.line(f"  ... {len(done.left_out) - LEFT_OUT_SHOWN_MAX} more")
    page.line("What to type next")
    page.line(f"  say in {done.written[1]} what the tools commit")
    page.line(f"  chaosagent search {done.written[2]}")
    output.answer(page)
    return 0
