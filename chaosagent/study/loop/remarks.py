"""What the runs without injections show of likely mistakes in a study or its target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Space


def remarks_of(workbench: Workbench, space: Space, task_ids: Iterable[str]) -> list[str]:
    """Return these remarks, a sentence or more each: a search may take hours.

    Args:
        workbench: Has made those runs.
        space: Of the study.
        task_ids: Which tasks to look at.
    """
    remarks = dict[str, list[str]]()
    if workbench.interfaces:  # without any, the target calls no door, which is reported by itself
        unmatched = space.unmatched_among(workbench.interfaces, workbench.agents)
        remarks.update((one.advice, []) for one in unmatched)  # one entry may stand for many operators
    for task_id in task_ids:
        for text in workbench.remarks_on(task_id):
            remarks.setdefault(text, []).append(task_id)
    return [_of_tasks(ids) + text for text, ids in remarks.items()]


def _of_tasks(task_ids: Sequence[str]) -> str:
    """Return which tasks a remark is of, as the beginning of it; empty where it is of none."""
    if not task_ids:
        return ""
    more = f" and {len(task_ids) - 1} more" if len(task_ids) > 1 else ""
    return f"task {task_ids[0]!r}{more}: "
