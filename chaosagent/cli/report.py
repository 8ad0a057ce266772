"""`chaosagent report`: write the page of a study."""

from __future__ import annotations

from pathlib import Path

import click

from chaosagent.cli import output

OK = 0
STUDIES_MAX = 50


@click.command()
@click.argument("studies", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FOLDER|STUDY...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write the page; report.html in the folder by default, or here for several studies.",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Also say what changed since an earlier study, as `chaosagent compare` does.",
)
@click.option("--json", is_flag=True, help="Print one JSON object: the numbers of the page.")
def report(studies: tuple[Path, ...], *, out: Path | None, since: Path | None, json: bool) -> int:
    """Write one HTML page of a study: is it robust, what broke, how, where it is weak, and what that cost.

    FOLDER|STUDY is the folder of a study, or its study file.

    The page needs nothing else: no network, no other file. Nothing is run. A study that still runs, or was interrupted,
    has a page of what is known so far. `chaosagent search` writes this page at its end. Several studies get one page:
    all of them at a glance, and each of them below.

    Exit code: 0; 2 where there is no study, or the page cannot be written.

    \b
    Examples:
      chaosagent report chaosagent-out/refunds
      chaosagent report study.yaml --out refunds.html
      chaosagent report chaosagent-out/tuesday --since chaosagent-out/monday
      chaosagent report chaosagent-out/naive chaosagent-out/hardened --out both.html
    """
    from chaosagent.api.stored.changes import changes_in
    from chaosagent.api.stored.comparing import compare_studies
    from chaosagent.api.stored.comparison_page import comparison_json
    from chaosagent.api.stored.study_facts import study_facts
    from chaosagent.cli.status import folder_of
    from chaosagent.errors import UsageError
    from chaosagent.report.html.numbers import numbers_of, numbers_of_several
    from chaosagent.report.html.render import NAME, page_of, page_of_several, write_page
    from chaosagent.report.page import Page, name

    if len(studies) > STUDIES_MAX:
        raise UsageError(f"{len(studies)} studies: one page holds at most {STUDIES_MAX}. Name fewer.")
    if since is not None and len(studies) > 1:
        raise UsageError("--since compares one study with an earlier one. Name one study, or leave --since out.")
    if out is not None:
        output.check_place(out)
    folders = [folder_of(path) for path in studies]
    facts = [study_facts(folder) for folder in folders]
    place = out or (folders[0] / NAME if len(folders) == 1 else Path(NAME))
    compared = None if since is None else compare_studies(folder_of(since), folders[0])
    if len(facts) == 1:
        text = page_of(facts[0], None if compared is None else changes_in(compared))
    else:
        text = page_of_several(facts)
    write_page(text, place)
    if not json:
        output.answer(Page().line("Written: ", name(str(place))))
    elif len(facts) == 1:
        changes = None if compared is None else comparison_json(compared)
        output.answer_json({"page": str(place), **numbers_of(facts[0]), "changes": changes})
    else:
        output.answer_json({"page": str(place), **numbers_of_several(facts)})
    return OK
