"""Compares two stored studies: what changed from one night to the next."""

from __future__ import annotations

import fnmatch
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaosagent.api.counterexample import Counterexample
from chaosagent.api.load_study import load
from chaosagent.api.replays.replay_records import replay
from chaosagent.api.result import StudyResult
from chaosagent.api.rows import STUDY_NAME, Certificate
from chaosagent.api.stored.study_facts import study_facts
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.api.trusted_records import refuse_foreign_reference
from chaosagent.errors import UsageError
from chaosagent.faults.operator import COST_TOLERANCE, searched_by_default
from chaosagent.metrics.comparison import Change, Comparison, SearchKey, SearchOutcome, compare
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.report.causes.cause import Cause, Finding, causes_of, finding_in
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import facts_of_closed_store
from chaosagent.studyfile import load_study
from chaosagent.studyfile.settings import StudySettings
from chaosagent.targets.code import changed_code, code_of
from chaosagent.targets.loading import load_target


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study as it was stored.

    Attributes:
        folder: Of the study.
        result: What it found and proved.
        settings: Of its study file.
        stochastic: Answers come by chance, so nothing is proved.
        code: Digest of each file of the target's code, by path, as it was then; empty where the store does not say.
    """

    folder: Path
    result: StudyResult
    settings: StudySettings
    stochastic: bool
    code: Mapping[str, str]

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


def compare_studies(
    first: Path, second: Path, *, by_replay: bool = False, target: str | None = None
) -> StudyComparison:
    """Compare two stored studies in the searches that both have.

    Nothing is written, and nothing is run unless that is asked for.

    Args:
        first: Folder of the earlier one.
        second: Folder of the later one.
        by_replay: Run what the first study did not search for on the target and configuration of the first study: what
            holds there is new, and what breaks there, too, was missed before.
        target: Where the target of the first study is now, such as in an older checkout; by default where it was.

    Raises:
        UsageError: One of the folders holds no study, they weigh cost differently, or what is to be replayed on is not
            the code that the first study searched.
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

    apart = _apart(before, after, *outcomes)
    compared = compare(*outcomes, budget, silence=silence, apart=apart)
    if not by_replay:
        return StudyComparison(before, after, compared)
    tried = {one.key: one.after.counterexample for one in compared.differences if one.may_be_worse}
    replayed = _replayed(before, after, tried, target or before.result.target, is_named=target is not None)
    compared = compare(*outcomes, budget, silence=silence, replayed=replayed, apart=apart)
    return StudyComparison(before, after, compared, len(replayed))


def _stored(folder: Path) -> StoredStudy:
    result = load(folder)
    facts = facts_of_closed_store(folder / FILE_NAME)
    settings = load_study(folder / STUDY_NAME).settings
    return StoredStudy(folder, result, settings, facts.get("stochastic") == "yes", json.loads(facts.get("code", "{}")))


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


def _apart(
    before: StoredStudy,
    after: StoredStudy,
    earlier: Mapping[SearchKey, SearchOutcome],
    later: Mapping[SearchKey, SearchOutcome],
) -> frozenset[SearchKey]:
    """Return the searches in which both found something of one cost, the second study by a cause new to the first."""
    equal = [
        (key, later[key].counterexample)
        for key, one in earlier.items()
        if key in later and later[key].counterexample not in ("", one.counterexample) and one.counterexample
        if abs((one.cost or 0.0) - (later[key].cost or 0.0)) <= COST_TOLERANCE
    ]
    if not equal:
        return frozenset()
    known = [finding_in(one.record, one.calls) for one in study_facts(before.folder).counterexamples]
    found = {one.record.id: finding_in(one.record, one.calls) for one in study_facts(after.folder).counterexamples}
    return frozenset(key for key, number in equal if number in found and not _is_known(found[number], key, known))


def _is_known(found: Finding, key: SearchKey, known: Iterable[Finding]) -> bool:
    """Whether a counterexample has the same cause as one that another study has of the same search."""
    of_search = [one for one in known if SearchKey(one.task_id, one.seed, one.contract) == key]
    return any(
        len(cause.findings) > 1 and any(one.id == found.id for one in cause.findings)
        for cause in causes_of([*of_search, found])
    )


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


def _replayed(
    before: StoredStudy, after: StoredStudy, tried: Mapping[SearchKey, str], reference: str, *, is_named: bool
) -> dict[SearchKey, bool]:
    """Return whether counterexamples hold on the target of the first study; those that cannot be run are left out."""
    if not is_named:
        refuse_foreign_reference(reference, before.folder, "name the target with --target")
    changed = _changed_since(before, reference)
    if changed:
        raise UsageError(
            f"{', '.join(changed[:3])}{' and more' if len(changed) > 3 else ''}: not the code that {before.folder} "
            "was searched with, so a replay would tell of another target. Check that version out into a folder of its "
            "own and name the target there, such as --replay --target ../older/agent.py:agent. Or search that version "
            "again with more --trials, and compare with that."
        )
    if not before.code and reference == after.result.target and before.result.config == after.result.config:
        raise UsageError(
            f"{before.folder} does not say which code it was searched with, and both studies are of {reference}, so a "
            "replay may tell of today's target and not of the earlier one. Leave --replay out."
        )
    known = after.counterexamples
    keys = [key for key, one in tried.items() if one in known]
    stored = [known[tried[key]] for key in keys]
    reruns: Sequence[Any] = replay(stored, target=reference, config=before.result.config).reruns
    came = {key: one.replay.outcome for key, one in zip(keys, reruns, strict=True)}
    decided = ReplayOutcome.HELD, ReplayOutcome.VIOLATED
    return {key: outcome is ReplayOutcome.HELD for key, outcome in came.items() if outcome in decided}


def _changed_since(study: StoredStudy, reference: str) -> list[str]:
    """Return the files of a target that are not as a study had them; the target may lie in another folder now."""
    with target_output_to_stderr(descriptors=False):
        loaded = code_of(load_target(reference), ())
    if not study.code or any(file in study.code for file in loaded):
        return changed_code(study.code)
    names = {Path(file).name for file in study.code}
    other = [file for file, digest in loaded.items() if digest not in study.code.values()]
    return [file for file in other if Path(file).name in names] or (other if len(other) == len(loaded) else [])
