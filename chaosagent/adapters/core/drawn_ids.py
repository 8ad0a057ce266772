"""Ids that a provider or a framework draws: where they cross, they have names by first appearance.

A drawn id is another one in every run. Its name is not, so that equal runs have equal traces. The agent and the world
still see the ids themselves, as far as this run has any; an exact replay has none, and there they see the names.
"""

from __future__ import annotations

from chaosagent.canonical import Plain


class DrawnIds:
    """Ids and the names under which they cross: `call-1`, `call-2`, ... for the stem `call-`."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def name(self, drawn: str, stem: str) -> str:
        """Return the name of an id; a new one with this stem when the id is new."""
        if drawn not in self._names:
            self.bind(drawn, self.next_name(stem))
        return self._names[drawn]

    def next_name(self, stem: str) -> str:
        """Return a name with this stem that no id has had."""
        self._counts[stem] = self._counts.get(stem, 0) + 1
        return f"{stem}{self._counts[stem]}"

    def bind(self, drawn: str, name: str) -> None:
        """Let an id and a name stand for each other; an id that has a name keeps it, and so does a name its id."""
        self._names.setdefault(self._ids.setdefault(name, drawn), name)

    def known(self, name: str) -> str | None:
        """Return the id behind a name, `None` where no id has it."""
        return self._ids.get(name)

    def id_of(self, name: str) -> str:
        """Return the id behind a name, the name itself where no id has it."""
        return self._ids.get(name, name)

    def plain(self) -> Plain:
        """Return what later names depend on, beside which ids have one; for checkpoints."""
        return {**self._counts}


class CallIds(DrawnIds):
    """The ids of tool calls in one conversation."""

    STEM = "call-"

    def crossing(self, own: str) -> str:
        """Return the name of one of the framework's ids."""
        return self.name(own, self.STEM)

    def answered(self, own: str, *, is_made_up: bool = False) -> str:
        """Return the name of a call that a model has just asked for.

        Args:
            own: The id that the model gave it.
            is_made_up: The framework drew that id. The model need not get it back, and a tool may see it, so the name
                takes its place.
        """
        name = self.next_name(self.STEM)
        while name in self._names:
            name = self.next_name(self.STEM)
        self._names[name] = name
        self._ids[name] = name if is_made_up or not own else own
        return name
