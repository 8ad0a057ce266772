"""Writes the report page: one file, with its style and script inside, that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.report.html.changes import Changes
from chaosagent.report.html.overview import overview_of
from chaosagent.report.html.study_facts import StudyFacts
from chaosagent.report.html.view import view_of
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity, taken_over_text
from chaosagent.whole_file import write_whole

NAME = "report.html"
NEEDED_BY = "the report page"


def page_of(facts: StudyFacts, changes: Changes | None = None) -> str:
    """Return the report page of a study as HTML.

    Every text is escaped twice over: what a terminal or a reader's eye could be fooled by (control characters, turned
    writing), and what HTML would act on. The page's policy lets nothing run but its own script.

    Args:
        facts: Of the study.
        changes: Since an earlier study; `None` leaves them out.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    view = view_of(facts, None if changes is None else changes.since)
    return _rendered("report.html.j2", view=view, changes=changes)


def page_of_several(studies: Sequence[StudyFacts]) -> str:
    """Return one page for several studies as HTML: all of them at a glance, then each as on its own page.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    views = [view_of(facts) for facts in studies]
    return _rendered("studies.html.j2", views=views, overview=overview_of(views))


def _rendered(template: str, **values: object) -> str:
    jinja2 = require("jinja2", extra="report", needed_by=NEEDED_BY)
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_file),
    )
    environment.filters["quantity"] = quantity
    environment.filters["taken_over"] = taken_over_text
    environment.filters["cut"] = lambda text, most: printable(text, characters_max=most)
    style, script = _file("report.css"), _file("report.js")
    return str(
        environment.get_template(template).render(
            **values,
            style=jinja2.utils.markupsafe.Markup(style),
            script=jinja2.utils.markupsafe.Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )


def write_page(text: str, path: Path) -> None:
    """Write a page, whole or not at all.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}. Make room, or choose another --out.") from error


def _file(name: str) -> str:
    return resources.files("chaosagent.report.html").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
