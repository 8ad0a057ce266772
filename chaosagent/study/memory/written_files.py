"""The files that runs were seen to write, by task."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.faults.written_file import WrittenFile


class WrittenFiles:
    """Remembers them; what writes many is named once."""

    def __init__(self) -> None:
        self._by_task: dict[str, dict[str, WrittenFile]] = {}  # and place in the code

    def note(self, task_id: str, files: Iterable[WrittenFile]) -> None:
        """Note files that runs of a task write."""
        known = self._by_task.setdefault(task_id, {})
        for written in sorted(files):
            known.setdefault(written.place, written)

    def of(self, task_id: str) -> list[WrittenFile]:
        """Return the files that runs of a task were seen to write."""
        return sorted(self._by_task.get(task_id, {}).values())
