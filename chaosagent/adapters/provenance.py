"""What calls of tools were asked by, and what they answered, for the links of a trace."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run

DERIVED = "derived_from"


class Provenance:
    """Links each call of a tool to the answer of the model that asked for it, and answers of models to what tools said.

    What stands behind a door is not linked: an exact replay does not go there.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked_by, self._answered_by = _Artifacts(), _Artifacts()

    def of_model(self, agent: str, read: Iterable[str], asked: Iterable[str]) -> None:
        """Link the answer of a model that has just been delivered.

        Args:
            agent: Who asked the model.
            read: The ids of the calls whose results the model was shown.
            asked: The ids of the calls that it asks for.
        """
        if is_behind():
            return
        artifact = self._run.artifact()
        if not artifact:
            return
        for call_id in read:
            self._link(artifact, self._answered_by.of(agent, call_id))
        for call_id in asked:
            self._asked_by.keep(agent, call_id, artifact)

    def of_tool(self, agent: str, call_id: str) -> None:
        """Link the answer of a tool that has just been delivered."""
        if is_behind():
            return
        artifact = self._run.artifact()
        if artifact:
            self._answered_by.keep(agent, call_id, artifact)
            self._link(artifact, self._asked_by.of(agent, call_id))

    def _link(self, artifact: str, source: str) -> None:
        if source:
            self._run.link(artifact, DERIVED, source)


class _Artifacts:
    """Artifacts by the calls of tools that they belong to: two agents at work may both have a `call-1`."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], str] = {}
        self._newest: dict[str, str] = {}

    def keep(self, agent: str, call_id: str, artifact: str) -> None:
        """Remember an artifact."""
        self._of[agent, call_id] = self._newest[call_id] = artifact

    def of(self, agent: str, call_id: str) -> str:
        """Return an agent's own; where it has none, that of whose conversation it goes on with. Empty for none."""
        return self._of.get((agent, call_id)) or self._newest.get(call_id, "")
