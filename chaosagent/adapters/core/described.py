"""What YAML descriptions of targets share: how they are validated, and rules for tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chaosagent.effects.condition import Loader
from chaosagent.effects.rule import EffectRule, effect_rule_from
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.targets.references import load_object
from chaosagent.yaml_file import Located, quote_value

STRICT = ConfigDict(extra="forbid", frozen=True)
"""Of a part of a description: an unknown key is an error."""
Described = TypeVar("Described", bound=BaseModel)


def validated(
    located: Located, kind: type[Described], keys_at: Callable[[tuple[int | str, ...]], Sequence[str]], where: str
) -> Described:
    """Return what a description says.

    Args:
        located: What the file says.
        kind: Of description.
        keys_at: Returns the keys that are known at a place of the file.
        where: What messages call the place that names the file.

    Raises:
        UsageError: It says what is not allowed; the message names file and line.
    """
    prefix = f"{where}: " if where else ""
    try:
        return kind.model_validate(located.data)
    except ValidationError as error:
        first = error.errors()[0]
        place, line = ".".join(str(part) for part in first["loc"]), located.where(*first["loc"])
        if first["type"] == "extra_forbidden":
            known = keys_at(first["loc"][:-1])
            raise UnknownNameError("key", str(first["loc"][-1]), known, f"{prefix}{line}: {place}") from error
        allowed = first["msg"].replace("Input should be", "it must be")
        raise UsageError(f"{prefix}{line}: {place} is {quote_value(first['input'])}; {allowed}.") from error


def effects_from(given: Mapping[str, object], folder: Path, where: str) -> dict[str, EffectRule]:
    """Return what operations or tools commit, by name.

    Args:
        given: As it stands in the file.
        folder: Where files of code are looked for.
        where: What messages call the place.
    """
    load = loader_in(folder)
    return {name: effect_rule_from(rule, f"{where}.effects.{name}", load) for name, rule in given.items()}


def loader_in(folder: Path) -> Loader:
    """Return how functions are loaded that a description in some folder names."""
    return lambda reference, where: load_object(reference, where=where, folder=folder)
