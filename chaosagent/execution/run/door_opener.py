"""Opens the doors of a run with the options that the target gives for each."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chaosagent.canonical import Plain
from chaosagent.execution.failures import known_by_name
from chaosagent.execution.run.doors import DictionaryMemory, DoorOptions, LiveDoor, Mailbox, read_text, tool_list
from chaosagent.targets.target import EffectRule, Errors, Implementation
from chaosagent.vocabulary import Boundary


class DoorOpener(abc.ABC):
    """The part of a run that opens doors; see `chaosagent.targets.target.Run`."""

    @abc.abstractmethod
    def open_door(
        self,
        boundary: Boundary,
        name: str,
        implementation: Implementation | None,
        options: DoorOptions,
        default: Callable[[], object] | None = None,
    ) -> LiveDoor:
        """Return the door of a name, which is opened once."""

    @abc.abstractmethod
    def mailbox(self, name: str) -> Mailbox:
        """Return the box behind a channel between agents."""

    def service(
        self,
        name: str,
        implementation: Implementation,
        *,
        effects: Mapping[str, EffectRule] | None = None,
        read_only: bool | Iterable[str] = False,
        pure: bool | Iterable[str] = False,
        stale: Callable[[str, Mapping[str, Plain]], Plain] | None = None,
        errors: Errors = (),
        egress: bool = False,
    ) -> LiveDoor:
        """See `chaosagent.targets.target.Run`, as for the other doors."""
        options = DoorOptions(
            effects=dict(effects) if effects else {},
            read_only=read_only if isinstance(read_only, bool) else frozenset(read_only),
            pure=pure if isinstance(pure, bool) else frozenset(pure),
            stale=stale,
            errors=known_by_name(errors),
            egress=egress,
        )
        return self.open_door(Boundary.SERVICE, name, implementation, options)

    def retrieval(
        self, name: str, implementation: Implementation, *, pure: bool = False, errors: Errors = ()
    ) -> LiveDoor:
        options = DoorOptions(read_only=True, pure=pure, errors=known_by_name(errors))
        return self.open_door(Boundary.RETRIEVAL, name, implementation, options)

    def memory(self, name: str, implementation: Implementation | None = None, *, errors: Errors = ()) -> LiveDoor:
        options = DoorOptions(read_only=frozenset({"read", "keys"}), errors=known_by_name(errors))
        return self.open_door(Boundary.MEMORY, name, implementation, options, default=DictionaryMemory)

    def model(self, name: str, implementation: Implementation, *, pure: bool = True, errors: Errors = ()) -> LiveDoor:
        options = DoorOptions(read_only=True, pure=pure, errors=known_by_name(errors))
        return self.open_door(Boundary.MODEL, name, implementation, options)

    def message(self, name: str, implementation: Implementation | None = None, *, errors: Errors = ()) -> LiveDoor:
        options = DoorOptions(errors=known_by_name(errors))
        return self.open_door(Boundary.MESSAGE, name, implementation, options, default=lambda: self.mailbox(name))

    def tools(self, name: str, implementation: Implementation) -> LiveDoor:
        behind = tool_list(implementation)
        return self.open_door(Boundary.TOOLS, name, behind, DoorOptions(read_only=True))

    def prompt(self, name: str) -> LiveDoor:
        return self.open_door(Boundary.PROMPT, name, read_text, DoorOptions(read_only=True))

    def receive(self, name: str, agent: str) -> Any:
        boxes = {"receive": self.mailbox(name).receive}
        inbox = self.open_door(Boundary.MESSAGE, f"{name}:inbox", boxes, DoorOptions(injectable=False))
        return inbox("receive", agent=agent)
