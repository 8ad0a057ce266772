"""What calls of tools were asked by, and what they answered, for the links of a trace."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.canonical import Plain
from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run

DERIVED = "derived_from"


class Provenance:
    """Links each call of a tool to the answer of the model that asked for it, and answers of models to what tools said.

    What stands behind a door is not linked: an exact replay does not go there.

    Args:
        run: The run.
        asked_relation: How the answer of a tool is linked to the answer of the model that asked for it.
    """

    def __init__(self, run: Run, *, asked_relation: str = DERIVED) -> None:
        self._run, self._asked_relation = run, asked_relation
        self._asked_by, self._answered_by = _Artifacts(), _Artifacts()
        self._unread: dict[str, list[str]] = {}

    def renewed(self) -> Provenance:
        """Return the provenance of the same run, in which nothing was asked yet."""
        return Provenance(self._run, asked_relation=self._asked_relation)

    def of_model(self, agent: str, read: Iterable[tuple[str, str] | str], asked: Iterable[str], asks: str = "") -> None:
        """Link the answer of a model that has just been delivered.

        Args:
            agent: Who asked the model.
            read: The ids of the calls whose results the model was shown, each with the id of the message that asked for
                it where the framework has one.
            asked: The ids of the calls that it asks for.
            asks: The id of the answer, where the framework gives it one that no other message has.
        """
        if not (artifact := self._delivered()):
            return
        for one in read:
            call_id, asked_in = (one, "") if isinstance(one, str) else one
            self._link(artifact, DERIVED, self._answered_by.of(agent, asked_in, call_id))
        for call_id in asked:
            self._asked_by.keep(agent, asks, call_id, artifact)

    def of_model_since(self, agent: str, asked: Iterable[str]) -> None:
        """Link the answer of a model to everything that its agent received since the previous answer."""
        if artifact := self._delivered():
            for source in self._unread.pop(agent, ()):
                self._link(artifact, DERIVED, source)
            for call_id in asked:
                self._asked_by.keep(agent, "", call_id, artifact)

    def of_tool(self, agent: str, call_id: str, asked_in: str = "", *, is_shown: bool = True) -> None:
        """Link the answer of a tool that has just been delivered.

        Args:
            agent: Whose call.
            call_id: Of the call.
            asked_in: The id of the message that asked for it; empty where nobody knows it.
            is_shown: The agent's model will be shown the answer.
        """
        if artifact := self._delivered():
            self._answered_by.keep(agent, asked_in, call_id, artifact)
            if is_shown:
                self._unread.setdefault(agent, []).append(artifact)
            self._link(artifact, self._asked_relation, self._asked_by.of(agent, asked_in, call_id))

    def told(self, agent: str) -> None:
        """Remember something else that was just delivered to an agent, such as what a memory holds."""
        if artifact := self._delivered():
            self._unread.setdefault(agent, []).append(artifact)

    def asked_by(self, agent: str, call_id: str) -> str:
        """Return the answer of a model that asked for a call; empty for none."""
        return self._asked_by.of(agent, "", call_id)

    def plain(self) -> Plain:
        """Return what later links depend on, without ids; for checkpoints."""
        unread: dict[str, Plain] = {agent: list(artifacts) for agent, artifacts in self._unread.items()}
        return [self._asked_by.plain(), self._answered_by.plain(), unread]

    def _delivered(self) -> str:
        return "" if is_behind() else self._run.artifact()

    def _link(self, artifact: str, relation: str, source: str) -> None:
        if source:
            self._run.link(artifact, relation, source)


class _Artifacts:
    """Artifacts by the calls of tools that they belong to.

    Ids of calls are counted within a conversation, so that two agents at work, and two conversations of one agent, may
    both have a `call-1`: there the id of the message that asked tells them apart.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[str, str, str], str] = {}
        self._newest_of: dict[tuple[str, str], str] = {}
        self._newest: dict[str, str] = {}

    def keep(self, agent: str, asked_in: str, call_id: str, artifact: str) -> None:
        """Remember an artifact."""
        self._of[agent, asked_in, call_id] = artifact
        self._newest_of[agent, call_id] = self._newest[call_id] = artifact

    def of(self, agent: str, asked_in: str, call_id: str) -> str:
        """Return the agent's own artifact, else the newest one of this call by any agent; empty for none."""
        own = self._of.get((agent, asked_in, call_id)) or self._newest_of.get((agent, call_id))
        return own or self._newest.get(call_id, "")

    def plain(self) -> Plain:
        """Return artifacts in the order in which they came."""
        return list(self._of.values())
