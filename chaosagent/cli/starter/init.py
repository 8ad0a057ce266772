"""`chaosagent init`: write a study and a small target to begin with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from chaosagent.cli import output
from chaosagent.errors import UsageError

FILES = ("agent.py", "study.yaml")


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write; made if it does not exist.")] = Path(),
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Write agent.py and study.yaml, commented, that run as they are.

    Nothing is overwritten.

    [bold]Example[/bold]

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
