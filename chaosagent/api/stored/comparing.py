"""Compares two stored studies: what changed from one night to the next."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaosagent.api.counterexample import Counterexample
from chaosagent.api.load_study import load
from chaosagent.api.replays.replay_records import replay
from chaosagent.api.result import StudyResult
from chaosagent.api.rows import STUDY_NAME, Certificate
from chaosagent.api.stored.study_facts import study_facts
from chaosagent.errors import UsageError
from chaosagent.faults.operator import searched_by_default
from chaosagent.metrics.comparison import Change, Comparison, SearchKey, SearchOutcome, compare
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.report.causes.cause import Cause, causes_of, finding_in
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import facts_of_closed_store
from chaosagent.studyfile import load_study
from chaosagent.studyfile.settings import StudySettings


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study as it was stored.

    Attributes:
        folder: Of the study.
        result: What it found and proved.
        settings: Of its study file.
        stochastic: Answers come by chance, so nothing is proved.
    """

    folder: Path
    result: StudyResult
    settings: StudySettings
    stochastic: bool

    @property
    def counterexamples(self) -> dict[str, Counterexample]:
        """Those that have a record, by their ids."""
        return {one.id: one for one in self.result.counterexamples}


@dataclass(frozen=True, slots=True)
class StudyComparison:
    """Two stored studies, compared.

    Attributes:
        first: The earlier one.
        second: The later one.
        comparison: Search by search.
        replayed: How many counterexamples of the second study were run on the target of the first one.
    """

    first: StoredStudy
    second: StoredStudy
    comparison: Comparison
    replayed: int = 0

    @property
    def budget(self) -> float:
        """Up to which cost both have searched."""
        return min(self.first.result.budget, self.second.result.budget)

    @property
    def unshared_operators(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The entries under `operators` that only the first study has, and those that only the second one has."""
        first, second = (_entries(one.settings) for one in (self.first, self.second))
        return (
            tuple(text for text, entry in first.items() if entry not in second.values()),
            tuple(text for text, entry in second.items() if entry not in first.values()),
        )

    def causes(self, changes: Collection[Change]) -> list[Cause]:
        """Return the causes of what has changed in some way, cheapest first; see `chaosagent.report.causes.cause`.

        Args:
            changes: Which ways. What is new, cheaper or more expensive is told by the second study, what is gone by the
                first one.
        """
        wanted = [one for one in self.comparison.differences if one.change in changes]
        return [
            cause
            for study, ids in (
                (self.second, {one.after.counterexample for one in wanted if one.change is not Change.GONE}),
                (self.first, {one.before.counterexample for one in wanted if one.change is Change.GONE}),
            )
            if ids
            for cause in causes_of(
                finding_in(one.record, one.calls)
                for one in study_facts(study.folder).counterexamples
                if one.record.id in ids
            )
        ]


def compare_studies(first: Path, second: Path, *, by_replay: bool = False) -> StudyComparison:
    """Compare two stored studies in the searches that both have.

    Nothing is written, and nothing is run unless that is asked for.

    Args:
        first: Folder of the earlier one.
        second: Folder of the later one.
        by_replay: Run what the first study did not search for on the target and configuration of the first study; what
            holds there is new. That needs another target or configuration than that of the second study.

    Raises:
        UsageError: One of the folders holds no study, or they weigh cost differently.
        StoredDataError: A store is damaged, of another version, or its study was killed or is at work.
    """
    before, after = map(_stored, (first, second))
    if before.settings.cost != after.settings.cost:
        raise UsageError(
            f"{second / STUDY_NAME}: `cost` is not that of {first / STUDY_NAME}, so equal faults have other costs and "
            "nothing can be compared. Search one of them again with the weights of the other."
        )
    outcomes = (
        outcomes_of(before.result, stochastic=before.stochastic),
        outcomes_of(after.result, stochastic=after.stochastic),
    )
    budget = min(before.result.budget, after.result.budget)

    def silence(key: SearchKey, found: SearchOutcome) -> str:
        finder, other = (after, before) if outcomes[1][key] is found else (before, after)
        return _silence(finder, other, found)

    compared = compare(*outcomes, budget, silence=silence)
    if not by_replay:
        return StudyComparison(before, after, compared)
    tried = {one.key: one.after.counterexample for one in compared.differences if one.may_be_worse}
    held = _held(before, after, tried)
    return StudyComparison(before, after, compare(*outcomes, budget, silence=silence, held=held), len(tried))


def _stored(folder: Path) -> StoredStudy:
    result = load(folder)
    stochastic = facts_of_closed_store(folder / FILE_NAME).get("stochastic") == "yes"
    return StoredStudy(folder, result, load_study(folder / STUDY_NAME).settings, stochastic)


def outcomes_of(result: StudyResult, *, stochastic: bool) -> dict[SearchKey, SearchOutcome]:
    """Return what each search of a study found and proved; of several counterexamples, the cheapest one.

    Args:
        result: Of the study.
        stochastic: Answers come by chance: what is proved holds for the frozen ones, and does not count.
    """
    cheapest: dict[SearchKey, Counterexample] = {}
    for one in result.counterexamples:  # cheapest first
        cheapest.setdefault(SearchKey(one.task, one.seed, one.contract), one)
    return {
        (key := SearchKey(one.task, one.seed, one.contract)): _outcome(
            one, cheapest.get(key), result.budget, stochastic=stochastic
        )
        for one in result.certificates
    }


def _outcome(
    certificate: Certificate, found: Counterexample | None, budget: float, *, stochastic: bool
) -> SearchOutcome:
    cost = 0.0 if certificate.violated_nominally else certificate.cost
    proves = certificate.level not in ("C0", "S") and not stochastic  # at S clean runs show it
    below = min(certificate.lower_bound, budget) if proves and not math.isnan(certificate.lower_bound) else 0.0
    up_to = budget if certificate.safe else None
    return SearchOutcome(cost, below, up_to, "" if found is None else found.id)


def _silence(finder: StoredStudy, other: StoredStudy, found: SearchOutcome) -> str:
    """Say why the proofs of a study say nothing of a counterexample of another one: it has other operators."""
    known = finder.counterexamples.get(found.counterexample)
    if known is None or finder.settings.operators == other.settings.operators:
        return ""
    names = sorted({injection.operator_name for injection in known.schedule})
    missing = [name for name in names if _allowing(finder.settings, name) != _allowing(other.settings, name)]
    return f"the other study has not searched {', '.join(missing)} like this one" if missing else ""


def _entries(settings: StudySettings) -> Mapping[str, object]:
    """Return what stands under `operators`, by its text; those that are searched by default where nothing does."""
    if settings.operators is None:
        return {"the usual ones": None}
    return {entry if isinstance(entry, str) else str(entry): entry for entry in settings.operators}


def _allowing(settings: StudySettings, name: str) -> list[Any]:
    """Return what a study file says of an operator: nothing where it is not searched."""
    if settings.operators is None:
        return ["usual"] if name in searched_by_default() else []
    said: list[Any] = []
    for entry in settings.operators:
        if isinstance(entry, str):
            said += ["usual"] if fnmatch.fnmatchcase(name, entry) else []
        elif isinstance(entry, dict) and fnmatch.fnmatchcase(name, str(entry.get("operator"))):
            said.append({key: value for key, value in entry.items() if key != "operator"})
    return said


def _held(before: StoredStudy, after: StoredStudy, tried: Mapping[SearchKey, str]) -> set[SearchKey]:
    """Return the searches whose counterexample holds on the target and configuration of the first study."""
    place = before.result.target, before.result.config
    if place == (after.result.target, after.result.config):
        raise UsageError(
            f"{before.folder} and {after.folder} are of the same target and configuration, so that a replay would tell "
            "of today's target and not of the earlier one. Leave --replay out, or check the earlier code out, search "
            "it again with more --trials, and compare with that."
        )
    known = after.counterexamples
    keys = [key for key, one in tried.items() if one in known]
    reruns: Sequence[Any] = replay([known[tried[key]] for key in keys], target=place[0], config=place[1]).reruns
    return {key for key, one in zip(keys, reruns, strict=True) if one.replay.outcome is ReplayOutcome.HELD}
