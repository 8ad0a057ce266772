"""Finding a target by the name that a study file or a replay record gives."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from chaosagent.errors import SecretsError, TargetError, UsageError
from chaosagent.importable import stop_hint
from chaosagent.registry import Registry
from chaosagent.targets.references import module_of
from chaosagent.targets.target import Target
from chaosagent.trace.redact import redactor_of

COMMAND_FILES = (".yaml", ".yml")
"""How files end that describe a target: a command, or recorded conversations."""


@dataclass(frozen=True, slots=True)
class DeferredTarget:
    """A registered target that is imported when it is asked for.

    Attributes:
        reference: `module:attribute` of the target, or of a function that makes it.
        description: One line on it.
    """

    reference: str
    description: str


TARGETS: Registry[Target | DeferredTarget] = Registry("target", "chaosagent.targets", "chaosagent.experiments")


def known_targets() -> dict[str, str]:
    """Return the names of built-in targets and plug-ins, each with one line, without loading a built-in."""
    return {name: TARGETS.get(name).description for name in TARGETS}


def load_target(reference: str, *, where: str = "", folder: Path | None = None) -> Target:
    """Return the target that a reference names.

    Args:
        reference: A name, `module:attribute`, `file.py:attribute`, or a file `agent.yaml` that describes a command or
            recorded conversations.
        where: What messages call the place of the reference.
        folder: Where a relative file is looked for; the working directory by default.

    Raises:
        UnknownNameError: No target has the name; the nearest is offered.
        UsageError: The module, the file or the attribute does not exist, or is no target.
        SecretsError: The target declares a secret by what is no regular expression.
        MissingExtraError: The module or file imports a package that an extra brings, and it is not installed.
        TargetError: The module or file fails on import.
    """
    found = _found(reference, where, folder)
    try:
        redactor_of(found.secrets)
    except SecretsError as error:
        raise SecretsError(f"{where}{': ' if where else ''}target {reference!r}: {error}") from error
    return found


def _found(reference: str, where: str, folder: Path | None) -> Target:
    if reference.endswith(COMMAND_FILES):
        reader = importlib.import_module("chaosagent.adapters.target_file")  # adapters stand above this layer
        return _made(reader.load_target_file((folder or Path.cwd()) / reference, where), reference)
    if ":" not in reference:
        if reference.endswith(".py"):
            prefix = f"{where}: " if where else ""
            raise UsageError(f"{prefix}{reference!r} names a file; say which target in it, as in {reference}:agent.")
        return _named(reference, where, Path.cwd() if folder is None else folder)
    place, _, attribute = reference.rpartition(":")
    module = module_of(place, folder, where)
    prefix = f"{where}: " if where else ""
    if not hasattr(module, attribute):
        known = sorted(name for name, value in vars(module).items() if isinstance(value, Target))
        listed = (
            f"It has: {', '.join(known)}."
            if known
            else "It has no target: decorate a function with @chaosagent.target()."
        )
        raise UsageError(f"{prefix}{place} has no {attribute!r}. {listed}{stop_hint(module)}")
    found = getattr(module, attribute)
    if not isinstance(found, Target):
        raise UsageError(
            f"{prefix}{reference} is {type(found).__name__}, not a target. "
            "Decorate the function with @chaosagent.target()."
        )
    return found


def _named(name: str, where: str, folder: Path) -> Target:
    place, _, attribute = name.rpartition(".")
    if place and name not in TARGETS and (folder / f"{place.replace('.', '/')}.py").is_file():
        file = f"{place.replace('.', '/')}.py"
        prefix = f"{where}: " if where else ""
        raise UsageError(
            f"{prefix}{name!r} is no target. A target in a file is named with a colon: {file}:{attribute}."
        )
    entry = TARGETS.get(name, where)
    if not isinstance(entry, DeferredTarget):
        return _made(entry, name)
    module, _, attribute = entry.reference.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return found if isinstance(found, Target) else _made(found(), name)


def _made(found: object, name: str) -> Target:
    if not isinstance(found, Target):
        raise TargetError(f"target {name!r} is {type(found).__name__}, not a target.")
    return found
