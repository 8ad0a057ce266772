"""What is run for a stored study afterwards: searches against the objective, and random schedules.

Each lies in a folder of its own within that of the study, as a study with the same settings.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from chaosagent.api.rows import STUDY_NAME, store_in
from chaosagent.api.trusted_records import refuse_foreign_reference
from chaosagent.errors import UsageError
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.store.facts import Facts
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import facts_of_closed_store, has_open_journal, open_closed_store
from chaosagent.studyfile import StudyFile, load_study, parse_study
from chaosagent.targets.code import changed_code
from chaosagent.yaml_file import read_yaml

OBJECTIVE_FOLDER, RANDOM_FOLDER = "objective", "random"
SAME = ("config", "tasks", "seeds", "budget", "operators", "cost", "run", "fresh")


def further_study(folder: Path, contracts: Sequence[str] | None = (OBJECTIVE,)) -> StudyFile:
    """Return the study of a folder, so that more can be run for it.

    Files are looked for from the working directory, in which the study was searched.

    Args:
        folder: Of the study.
        contracts: In place of its own; `None` to keep these.

    Raises:
        StoredDataError: The store is damaged, of another version, or its study was killed or is at work.
        UsageError: The folder holds a part of a study; its target lies outside the working directory, as a folder from
            a stranger could name one, or has changed since.
    """
    facts = facts_of_closed_store(folder / FILE_NAME)
    if "shard" in facts:
        raise UsageError(f"{folder} holds part {facts['shard']} of a study. Put the parts together: chaosagent merge.")
    reference = facts.get("target", "")
    refuse_foreign_reference(reference, folder, "name the study file of one that you trust to `chaosagent search`")
    changed = changed_code(json.loads(facts.get("code", "{}")))
    if changed:
        raise UsageError(
            f"{', '.join(changed)}: changed since {folder} was searched, so runs of today would not go together with "
            "it. Search it anew, or check out the version that was searched."
        )
    located = read_yaml(folder / STUDY_NAME, "study file")
    located = located.with_value(("target",), reference, "the folder")
    if contracts is not None:
        located = located.with_value(("contracts",), list(contracts), "curve")
    return parse_study(Path.cwd() / STUDY_NAME, located)


def belongs_to(folder: Path, facts: Facts, further: Path) -> bool:
    """Return whether what was run afterwards was run for the study as it is stored now: it may have been searched anew.

    Args:
        folder: Of the study.
        facts: Of its store.
        further: Folder of what was run afterwards; one that holds nothing belongs to no study.

    Raises:
        StoredDataError: The store in it is damaged, of another version, or was not closed.
        UsageError: A study file cannot be read.
    """
    if not (further / FILE_NAME).is_file():
        return False
    theirs = facts_of_closed_store(further / FILE_NAME)
    if any(facts.get(key) != theirs.get(key) for key in ("target", "config", "stochastic")):
        return False
    code, their_code = (json.loads(one.get("code", "{}")) for one in (facts, theirs))
    if any(their_code.get(file, digest) != digest for file, digest in code.items()):
        return False
    settings, their_settings = (load_study(one / STUDY_NAME).settings for one in (folder, further))
    return all(getattr(settings, key) == getattr(their_settings, key) for key in SAME)


def lacks_objective(folder: Path) -> bool:
    """Return whether searches against the objective are to be added to a study, or to go on.

    Raises:
        StoredDataError: A store is damaged, of another version, or its study was killed or is at work.
        UsageError: The folder holds no study, or its study file cannot be read.
    """
    with open_closed_store(store_in(folder), whole=False) as store:
        facts = store.facts
        if store.connection.execute("SELECT 1 FROM search WHERE contract = ?", (OBJECTIVE,)).fetchone() is not None:
            return False
    further = folder / OBJECTIVE_FOLDER
    if has_open_journal(further / FILE_NAME):  # it was killed
        return True
    return not belongs_to(folder, facts, further) or "ended" not in facts_of_closed_store(further / FILE_NAME)
