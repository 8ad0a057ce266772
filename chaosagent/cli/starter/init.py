"""`chaosagent init`: write a study and a small target to begin with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from chaosagent.cli import output
from chaosagent.cli.formats import json_flag
from chaosagent.errors import UsageError

FILES = ("agent.py", "study.yaml")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]")
@json_flag
def init(folder: Path, *, json: bool) -> int:
    """Write agent.py and study.yaml, commented, that run as they are.

    FOLDER is where to write, this folder by default; it is made if it does not exist. Nothing is overwritten.

    \b
    Example:
      chaosagent init my-agent && cd my-agent && chaosagent search study.yaml
    """
    from chaosagent.report.page import Page

    written = write_starter(folder)
    if json:
        output.answer_json({"written": [str(path) for path in written]})
        return 0
    page = Page()
    page.line("Written: " + ", ".join(str(path) for path in written))
    page.line("What to type next")
    inside = "" if folder == Path() else f"cd {folder} && "
    page.line(f"  {inside}chaosagent search study.yaml")
    output.answer(page)
    return 0


def write_starter(folder: Path) -> list[Path]:
    """Write the files into a folder and return their paths.

    Raises:
        UsageError: One of them exists already, or the folder cannot be written to.
    """
    paths = [folder / name for name in FILES]
    there = [path for path in paths if path.exists()]
    if there:
        raise UsageError(
            f"{there[0]} exists already, and nothing is overwritten. Name another folder: `chaosagent init FOLDER`."
        )
    starter = resources.files("chaosagent.cli") / "starter"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            path.write_text((starter / path.name).read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written to: {error.strerror}. Name another folder.") from error
    return paths
