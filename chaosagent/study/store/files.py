"""The files of a stored study, and what is removed so that it can be run again."""

from __future__ import annotations

from pathlib import Path

from chaosagent.errors import OtherStudyError, UsageError
from chaosagent.sqlite_file import DAMAGED, MENDING, remove_file
from chaosagent.study.plan import Plan
from chaosagent.study.store.opening import facts_in
from chaosagent.study.store.progress_file import NAME as PROGRESS_NAME
from chaosagent.study.store.tables import version_of_store

FILE_NAME = "study.db"
ANSWERS_NAME = "answers.db"


def check_removable(folder: Path, plan: Plan, *, unfinished_too: bool) -> None:
    """Refuse to delete a store that another study needs, or one that can be resumed.

    Args:
        folder: Of the stored study.
        plan: What is to be run instead.
        unfinished_too: Delete one that can be resumed, too.

    Raises:
        OtherStudyError: It holds another study.
        StoredDataError: The store is damaged.
        UsageError: It holds an unfinished one, or something else.
    """
    facts = facts_in(folder / FILE_NAME)
    if facts.get("plan", plan.digest) != plan.digest:
        raise OtherStudyError(str(folder))
    over = "ended" in facts or "failed" in facts
    if "begun_running" in facts and not over and not unfinished_too:
        if facts.get("chaosagent") != version_of_store():
            raise UsageError(
                f"{folder} holds an unfinished run of this study by another version of chaosagent, which this "
                f"one cannot resume. Choose another folder (--out), or delete {folder} first."
            )
        raise UsageError(
            f"{folder} holds an unfinished run of this study. Go on with it (--resume), choose another folder "
            f"(--out), or delete {folder} first."
        )


def clear(folder: Path, *others: str) -> None:
    """Delete the store in a folder, and other files of its study."""
    for name in (FILE_NAME, ANSWERS_NAME):
        remove_file(folder / name)
        remove_file(folder / f"{name}{DAMAGED}")
        remove_file(folder / f"{name}{MENDING}")
    for name in (PROGRESS_NAME, *others):
        remove_file(folder / name)
