"""Which category each task of a stored study has: the store names tasks only, so the target says it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from chaosagent.api.trusted_records import refuse_foreign_reference
from chaosagent.errors import UsageError
from chaosagent.importable import make_importable
from chaosagent.targets.loading import COMMAND_FILES, load_target


def categories_of(reference: str, folder: Path, tasks: Iterable[str]) -> dict[str, str]:
    """Return the category of each of some tasks.

    The target is loaded as it is now, and nothing is run. A folder may come from a stranger: code outside the working
    directory is not imported for it.

    Args:
        reference: Of the target, as the store has it.
        folder: Of the study, for messages.
        tasks: Their ids.

    Raises:
        UsageError: The target is code outside the working directory, or has no such task any more.
        TargetError: It cannot be loaded.
    """
    refuse_foreign_reference(reference, folder, "leave --by out")
    place = reference if reference.endswith(COMMAND_FILES) else reference.rpartition(":")[0]
    make_importable(Path.cwd())
    if place.endswith(".py"):
        make_importable((Path.cwd() / place).resolve().parent)
    target = load_target(reference)
    wanted = sorted(tasks)
    missing = [task for task in wanted if task not in target.tasks]
    if missing:
        raise UsageError(
            f"{folder}: the target {reference!r} has no task {missing[0]!r} any more, so its category is not "
            "known. Check out the version of the target that was searched, or leave --by out."
        )
    return {task: target.tasks[task].category for task in wanted}
