"""Which records are replayed: those of a target that the user has named, or of code in the working directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.machinery import all_suffixes
from pathlib import Path, PurePosixPath

from chaosagent.canonical import Plain
from chaosagent.effects.linear_pattern import linear_pattern
from chaosagent.errors import ChaosAgentError, RecordError, UsageError
from chaosagent.replays.record import ReplayRecord
from chaosagent.targets.loading import COMMAND_FILES
from chaosagent.targets.target import Target

NO_LEAK = "no-leak"


def refuse_foreign_code(record: ReplayRecord, *, trusts_target: bool, remedy: str = "--target") -> None:
    """Refuse a record that names code outside the working directory.

    Args:
        record: Which may be anybody's.
        trusts_target: The user has named the target, so what the record says of it does not count.
        remedy: The option or parameter that names the target.

    Raises:
        RecordError: The record names its target or a contract by an absolute path, by one with `..`, by one that a
            symbolic link leads outside, or by what is no name of a module.
    """
    outside = "" if trusts_target else _outside(record.target_reference)
    if outside:
        raise RecordError(
            f"the record names its target as {record.target_reference!r}, {outside}; a record alone does not get "
            f"such code imported. If you trust it, name the target with {remedy}."
        )
    for contract in _named_contracts(record.contract_specs):
        outside = leads_outside(contract.partition(":")[0])
        if outside:
            raise RecordError(
                f"the record names a contract as {contract!r}, {outside}; such code is never imported. Search "
                "again for a record of your own."
            )


def refuse_unusable_patterns(record: ReplayRecord) -> None:
    """Refuse a record with a contract whose pattern could take for ever, or is none.

    Raises:
        RecordError: The message says which.
    """
    for pattern in _patterns(record.contract_specs):
        try:
            linear_pattern(pattern, "a contract of the record", "Search again for a record with another one.")
        except UsageError as error:
            raise RecordError(str(error)) from error


def refuse_foreign_reference(reference: str, folder: Path, remedy: str) -> None:
    """Refuse a stored study that names code outside the working directory as its target: it may be anybody's.

    Args:
        reference: Of the target, as the store has it.
        folder: Of the study, for messages.
        remedy: What else to do.

    Raises:
        UsageError: The target is such code.
    """
    outside = _outside(reference)
    if outside:
        raise UsageError(
            f"{folder}: its target is {reference!r}, {outside}; a folder alone does not get "
            f"such code imported. Go to the directory that the target lies in, or {remedy}."
        )


def _outside(reference: str) -> str:
    """Return where a target lies, for messages, empty for one in the working directory or a registered one."""
    is_file = reference.endswith(COMMAND_FILES)
    place = reference if is_file else reference.rpartition(":")[0]
    return leads_outside(place) if is_file or ":" in reference else ""


def refuse_other_target(record: ReplayRecord, target: Target | ChaosAgentError, remedy: str) -> None:
    """Refuse a record of something else: what holds there would say nothing, and look like a success.

    A target may have been renamed, or lost a task; where both is so, it is another one.
    """
    if isinstance(target, Target) and target.name != record.target_name and record.task.id not in target.tasks:
        raise RecordError(
            f"the record is of target {record.target_name!r}, task {record.task.id!r}; the target {target.name!r} has "
            f"no such task. Name the target that it is of with {remedy}."
        )


def leads_outside(place: str) -> str:
    """Return why a place is not trusted; empty for a relative file without `..` and for the name of a module.

    Whatever of it lies in the working directory must lie there once symbolic links are followed, too.

    Args:
        place: A file, or the dotted name of a module.
    """
    is_file = place.endswith((".py", *COMMAND_FILES))
    path = PurePosixPath(place)
    if (path.is_absolute() or ".." in path.parts) if is_file else not all(map(str.isidentifier, place.split("."))):
        return "outside the working directory"
    here = Path.cwd().resolve()
    for candidate in [Path(place)] if is_file else _files_of(place):
        try:
            found = (here / candidate).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, and names that no file can have
            return f"which cannot be followed ({error})"
        if not found.is_relative_to(here):
            return f"which a symbolic link leads outside the working directory, to {found}"
    return ""


def _files_of(module: str) -> Iterator[Path]:
    """Yield what is executed on import of a module in the working directory, whether it is there or not."""
    folder = Path()
    for name in module.split("."):
        yield from (folder / f"{name}{suffix}" for suffix in all_suffixes())
        folder /= name
        yield folder
        yield from (folder / f"__init__{suffix}" for suffix in all_suffixes())


def _patterns(entry: Plain) -> Iterator[str]:
    """Yield the regular expressions of entries, of those inside of others, too."""
    if isinstance(entry, list | tuple):
        for inside in entry:
            yield from _patterns(inside)
    elif isinstance(entry, Mapping):
        given = entry.get("patterns") if entry.get("contract") == NO_LEAK else None
        listed = given if isinstance(given, list | tuple) else [given]
        yield from (pattern for pattern in listed if isinstance(pattern, str))
        for setting in ("requires", "final"):
            yield from _patterns(entry.get(setting))


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
