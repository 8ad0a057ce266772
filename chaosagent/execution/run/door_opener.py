"""Opens the doors of a run with the options that the target gives for each."""

from __future__ import annotations

import abc
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from chaosagent.errors import TargetError, UsageError
from chaosagent.execution.failures import known_by_name
from chaosagent.execution.run.doors import (
    DoorOptions,
    LiveDoor,
    failed_when_of,
)
from chaosagent.execution.run.own_worlds import DictionaryMemory, Mailbox, read_text, tool_list
from chaosagent.lists import list_of
from chaosagent.targets.target import Errors, Implementation, ServiceOptions
from chaosagent.vocabulary import Boundary


def check_service_options(name: str, given: Iterable[str]) -> None:
    """Refuse options that the door to a service does not have, in every kind of run.

    Args:
        name: Of the interface, without the boundary.
        given: Names of options.

    Raises:
        TypeError: There is no such option.
    """
    known = ServiceOptions.__annotations__
    for option in given:
        if option not in known:
            nearest = difflib.get_close_matches(option, known, n=1, cutoff=0.4)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise TypeError(f"run.service({name!r}) has no option {option!r}.{hint} Known: {', '.join(sorted(known))}.")


def service_options(name: str, given: ServiceOptions) -> DoorOptions:
    """Return what a target says of the door to a service.

    Args:
        name: Of the interface, without the boundary.
        given: As the target says it.

    Raises:
        TypeError: There is no such option.
        TargetError: `failed_when` holds no conditions, or a text stands where a list is needed.
    """
    check_service_options(name, given)
    effects = given.get("effects")
    if not isinstance(effects or {}, Mapping):
        raise TargetError(
            f"service:{name} declares effects={effects!r:.80}, which is no mapping from operation to rule. Write "
            'effects={"refund": chaosagent.effect("order")}, with the arguments that identify an effect.'
        )
    egress = given.get("egress", False)
    if not isinstance(egress, bool):
        raise TargetError(f"service:{name} declares egress={egress!r:.80}. Write True or False.")
    return DoorOptions(
        effects=dict(effects or {}),
        failed_when=failed_when_of(f"service:{name}", given.get("failed_when")),
        read_only=operations_of(f"service:{name}", "read_only", given=given.get("read_only", False)),
        pure=operations_of(f"service:{name}", "pure", given=given.get("pure", False)),
        stale=given.get("stale"),
        errors=known_by_name(given.get("errors", ())),
        egress=egress,
    )


def operations_of(door: str, option: str, *, given: bool | Iterable[str]) -> bool | frozenset[str]:
    """Return the operations that an option of a door names, or whether it is said of all.

    Raises:
        TargetError: It is neither a list nor `True` or `False`.
    """
    if isinstance(given, bool):
        return given
    try:
        return frozenset(list_of(given, option, door))
    except UsageError as error:
        raise TargetError(str(error)) from None


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

    def service(self, name: str, implementation: Implementation, **options: Unpack[ServiceOptions]) -> LiveDoor:
        """See `chaosagent.targets.target.Run`, as for the other doors."""
        return self.open_door(Boundary.SERVICE, name, implementation, service_options(name, options))

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
