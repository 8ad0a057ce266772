"""The runs in a study's folder, each with its summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import open_closed_store
from chaosagent.trace.summary import RunSummary


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run of a study; the searches of a task and seed share it.

    Attributes:
        task: Id of the task.
        seed: Of the run.
        schedule: What was injected, in text form; empty for the run without injections.
        landed: What of it landed.
        error: Why it could not be executed; empty where it could.
        ending: How it ended.
        detail: One line on that, such as the exception; empty where there is nothing to say.
        success: Whether the task was done; `None` where that was not said.
        steps: Length of the trace.
        digest: Of the trace.
        summary: What else tables need; `None` for a run without a trace.
    """

    task: str
    seed: int
    schedule: str
    landed: str
    error: str
    ending: str
    detail: str
    success: bool | None
    steps: int
    digest: str
    summary: RunSummary | None


def stored_runs(folder: Path, file_id: str) -> tuple[StoredRun, ...]:
    """Return the runs in a folder, in the order in which they were made; none for a target that declares secrets.

    Args:
        folder: Of the study.
        file_id: Of its store.

    Raises:
        StoredDataError: The store is damaged, of another version, or its study was killed or is at work.
        UsageError: The folder holds no study any more, or another one.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        raise UsageError(f"{folder} holds no study any more: there is no {FILE_NAME}.")
    with open_closed_store(path) as store:
        if store.facts["id"] != file_id:
            raise UsageError(f"{folder} holds another study by now. Load it with chaosagent.load.")
        return tuple(
            StoredRun(
                at.task_id,
                at.seed,
                str(one.schedule),
                str(one.effective),
                one.error,
                one.ending.value,
                one.detail,
                one.success,
                one.step_count,
                one.digest,
                one.summary,
            )
            for at, one in store.evaluations("execution")
        )
