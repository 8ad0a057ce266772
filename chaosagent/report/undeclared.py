"""Warnings about state that a proof assumes not to matter: undeclared in checkpoints, or kept in modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chaosagent.report.page import Page, notice
from chaosagent.report.printable import printable
from chaosagent.report.story import counted
from chaosagent.study.certificate import UNREPEATED, Certificate
from chaosagent.study.likely_cause import INTO_A_FRESH_FOLDER
from chaosagent.study.result import SearchResult, StudyResult

CHECKPOINTS_MAX = 10
VARIABLES_MAX = 5
CHARACTERS_MAX = 80


def reservation_of(safe: Sequence[SearchResult]) -> str:
    """Say what a proof rests on that the target makes doubtful."""
    doubts = []
    if any(search.certificate.reads for search in safe):
        doubts.append("the clock reads and random numbers listed below do not matter")
    if any(rests_on_undeclared(search.certificate) for search in safe):
        doubts.append("what checkpoints leave out does not matter (listed below)")
    if any(search.certificate.changed for search in safe):
        doubts.append("what runs change in your modules does not matter (listed below)")
    if any(search.certificate.written for search in safe):
        doubts.append("what the target keeps in files does not matter (listed below)")
    return f", if {' and '.join(doubts)}" if doubts else ""


def tell_changed(page: Page, result: StudyResult) -> None:
    """Name the variables of modules that runs change, where something is proved all the same."""
    found = _named(certificate.changed for certificate in _proofs(result))
    if found:
        page.gap().line(
            notice("Runs change variables of your modules: "),
            f"{_listed(found)}. Runs that were repeated in processes of their own were equal, so nothing shows "
            "that it matters. To be sure, make the world within the function, or say `fresh: true` in the study file.",
        )


def tell_written(page: Page, result: StudyResult) -> None:
    """Name the files that the target writes, where something is proved all the same."""
    found = _named(certificate.written for certificate in _proofs(result))
    if found:
        page.gap().line(
            notice("The target writes files: "),
            f"{_listed(found, 'file')}. chaosagent does not reset files between runs, so all repeats read what "
            f"earlier runs wrote. To be sure that it does not matter, {INTO_A_FRESH_FOLDER}.",
        )


def _proofs(result: StudyResult) -> Iterator[Certificate]:
    """Yield the certificates that prove something."""
    for search in result.searches:
        if search.certificate.reproduced and search.certificate.level != "C0":
            yield search.certificate


def _named(found: Iterable[Iterable[str]]) -> list[str]:
    """Return names, each once, in the order in which they come."""
    return list(dict.fromkeys(name for names in found for name in names))


def is_unrepeated(search: SearchResult) -> bool:
    """Whether a search would have proved something, had its runs been repeated."""
    return search.certificate.unrepeated and search.certificate.level != "C0"


def tell_unrepeated(page: Page, result: StudyResult) -> None:
    """Say that nothing is proved yet, where an interrupt came before the repeats in other processes."""
    number = sum(map(is_unrepeated, result.searches))
    if number:
        page.gap().line(
            notice(f"Nothing is proved yet in {counted(number, 'search', 'searches')}: "),
            f"{UNREPEATED}. Give the same command with --resume to have them repeated.",
        )


def rests_on_undeclared(certificate: Certificate) -> bool:
    """Whether a proof used rule R3 although variables differed where it merged runs."""
    is_used = certificate.level != "C0" and certificate.lower_bound > 0 and certificate.reproduced
    return is_used and bool(certificate.pruned.get("R3")) and bool(certificate.undeclared)


def tell_undeclared(page: Page, result: StudyResult) -> None:
    """Name the variables that checkpoints leave out, of the searches whose proofs rest on these checkpoints."""
    resting = [search.certificate for search in result.searches if rests_on_undeclared(search.certificate)]
    if not resting:
        return
    number = counted(len(resting), "proof").capitalize()
    page.gap().line(
        notice(f"{number} {'rests' if len(resting) == 1 else 'rest'} on checkpoints that leave something out: "),
        "variables differed where the declared states were equal. The audit ran combinations of faults that leave them "
        "different, and none contradicted rule R3. To prove it without that rule: `settings: {r3: false}`.",
    )
    places: dict[str, dict[str, None]] = {}
    for certificate in resting:
        for variable, place in map(split_undeclared, certificate.undeclared):
            places.setdefault(place, {})[variable] = None
    for place, variables in list(places.items())[:CHECKPOINTS_MAX]:
        it = "it" if len(variables) == 1 else "them"
        page.line(
            f"Checkpoint {place} leaves out {_listed(list(variables))}: declare {it}, or show that "
            f"{'it does' if len(variables) == 1 else 'they do'} not matter.",
            indent=2,
        )
    if len(places) > CHECKPOINTS_MAX:
        page.line(f"... {len(places) - CHECKPOINTS_MAX} more checkpoints (--json lists them)", indent=2)


def _listed(variables: Sequence[str], kind: str = "variable") -> str:
    shown = ", ".join(f"`{printable(name, characters_max=CHARACTERS_MAX)}`" for name in variables[:VARIABLES_MAX])
    left = len(variables) - VARIABLES_MAX
    return f"{shown} and {counted(left, f'other {kind}')}" if left > 0 else shown


def split_undeclared(text: str) -> tuple[str, str]:
    """Return a variable and the checkpoint in quotes, of what `Certificate.undeclared` says."""
    variable, _, place = text.partition(" (checkpoint ")
    return variable, printable(place.removesuffix(")"), characters_max=CHARACTERS_MAX)
