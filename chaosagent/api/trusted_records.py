"""Which records are replayed: those of a target that the user has named, or of code in the working directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from chaosagent.canonical import Plain
from chaosagent.errors import ChaosAgentError, RecordError, UsageError
from chaosagent.replays.record import ReplayRecord
from chaosagent.targets.loading import COMMAND_FILES
from chaosagent.targets.target import Target


def refuse_foreign_code(record: ReplayRecord, *, trusts_target: bool, remedy: str = "--target") -> None:
    """Refuse a record that names code outside the working directory.

    Args:
        record: Which may be anybody's.
        trusts_target: The user has named the target, so what the record says of it does not count.
        remedy: The option or parameter that names the target.

    Raises:
        RecordError: The record names its target or a contract by an absolute path, by one with `..`, or by what is no
            name of a module.
    """
    reference = record.target_reference
    is_file = reference.endswith(COMMAND_FILES)
    place = reference if is_file else reference.rpartition(":")[0]
    if not trusts_target and (is_file or ":" in reference) and not stays_inside(place):
        raise RecordError(
            f"the record names its target as {reference!r}, outside the working directory; a record alone does not get "
            f"such code imported. If you trust it, name the target with {remedy}."
        )
    for contract in _named_contracts(record.contract_specs):
        if not stays_inside(contract.partition(":")[0]):
            raise RecordError(
                f"the record names a contract as {contract!r}, outside the working directory; such code is never "
                "imported. Search again for a record of your own."
            )


def refuse_foreign_reference(reference: str, folder: Path, remedy: str) -> None:
    """Refuse a stored study that names code outside the working directory as its target: it may be anybody's.

    Args:
        reference: Of the target, as the store has it.
        folder: Of the study, for messages.
        remedy: What else to do.

    Raises:
        UsageError: The target is such code.
    """
    is_file = reference.endswith(COMMAND_FILES)
    place = reference if is_file else reference.rpartition(":")[0]
    if (is_file or ":" in reference) and not stays_inside(place):
        raise UsageError(
            f"{folder}: its target is {reference!r}, outside the working directory; a folder alone does not get "
            f"such code imported. Go to the directory that the target lies in, or {remedy}."
        )


def refuse_other_target(record: ReplayRecord, target: Target | ChaosAgentError, remedy: str) -> None:
    """Refuse a record of something else: what holds there would say nothing, and look like a success.

    A target may have been renamed, or lost a task; where both is so, it is another one.
    """
    if isinstance(target, Target) and target.name != record.target_name and record.task.id not in target.tasks:
        raise RecordError(
            f"the record is of target {record.target_name!r}, task {record.task.id!r}; the target {target.name!r} has "
            f"no such task. Name the target that it is of with {remedy}."
        )


def stays_inside(place: str) -> bool:
    """Return whether a place is a relative file without `..`, or the name of a module."""
    if place.endswith((".py", *COMMAND_FILES)):
        path = PurePosixPath(place)
        return not path.is_absolute() and ".." not in path.parts
    return all(part.isidentifier() for part in place.split("."))


def _named_contracts(entry: Plain) -> Iterator[str]:
    """Yield the contracts that an entry names by module, inside of others, too."""
    if isinstance(entry, str) and ":" in entry:
        yield entry
    elif isinstance(entry, list | tuple):
        for inside in entry:
            yield from _named_contracts(inside)
    elif isinstance(entry, Mapping):
        for setting in ("requires", "final"):
            yield from _named_contracts(entry.get(setting))
