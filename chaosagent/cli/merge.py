"""`chaosagent merge`: one study of its shards."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag

OK = 0


@click.command()
@click.argument("out", type=click.Path(path_type=Path), metavar="OUT")
@click.argument("folders", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FOLDER...")
@json_flag
def merge(out: Path, folders: tuple[Path, ...], *, json: bool) -> int:
    """Put the shards of a study together, which were searched with `chaosagent search --shard 1/4`, 2/4 and so on.

    OUT is the new folder of the whole study; FOLDER... are the folders of all its shards.

    The new folder holds all their runs, and `chaosagent search --resume` ends the study with them: the result is that
    of a search without shards.

    Exit code: 0; 2 where these are not all shards of one study.

    \b
    Examples:
      chaosagent search study.yaml --shard 1/2 --out part-1
      chaosagent search study.yaml --shard 2/2 --out part-2
      chaosagent merge whole part-1 part-2
      chaosagent search study.yaml --resume --out whole
    """
    from chaosagent.report.page import Page
    from chaosagent.study.store.merge_stores import merge_stores

    runs = merge_stores(out, folders)
    if json:
        output.answer_json({"folder": str(out), "runs": runs})
        return OK
    page = Page().line(f"{out} holds {runs:,} runs of {len(folders)} shards.")
    page.line(f"Now `chaosagent search STUDY.yaml --resume --out {out}` prints the result; none is made again.")
    output.answer(page)
    return OK
