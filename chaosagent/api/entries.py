"""Objects of a study written in Python, as the entries and references that a study file has for them."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from chaosagent.api.arguments import plain_of
from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import TEMPLATES
from chaosagent.contracts.contract import Contract
from chaosagent.contracts.custom import FunctionContract
from chaosagent.contracts.settings import ContractSettings
from chaosagent.errors import UsageError
from chaosagent.faults.operator import Operator, parameters_of
from chaosagent.faults.space import Choices
from chaosagent.targets.naming import reference_of
from chaosagent.targets.target import Target
from chaosagent.yaml_file import quote_value

ContractEntry: TypeAlias = "Contract | str | Mapping[str, Plain]"
OperatorEntry: TypeAlias = "Operator | type[Operator] | Choices | str | Mapping[str, Plain]"


class Entries:
    """Collects what stands for the objects of one study.

    Args:
        where: File and line of the study, for messages.

    Attributes:
        objects: The objects, by the reference that stands for them in the study.
        only_here: Which of them no other process can import, and why, a clause each.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self.objects: dict[str, object] = {}
        self.only_here: list[str] = []

    def target(self, given: object) -> str:
        """Return the reference of a target, or the one that was given."""
        if isinstance(given, str):
            return given
        if not isinstance(given, Target):
            raise UsageError(
                f"{self._where}: target is {quote_value(given)}, not a target. Decorate the function with "
                "@chaosagent.target(), or give the name of a target."
            )
        module = str(getattr(inspect.unwrap(given.run), "__module__", ""))
        return self._reference(given, "target", module, given.name, as_file=True)

    def contracts(self, given: object) -> list[Plain]:
        """Return the entries of contracts."""
        entries = self._listed(given, "contracts", "contracts, their names, or mappings")
        return [self._contract(entry, f"contracts[{index}]") for index, entry in enumerate(entries)]

    def operators(self, given: object) -> list[Plain]:
        """Return the entries of operators."""
        entries = self._listed(given, "operators", "operators, their names, patterns, or mappings")
        return [self._operator(entry, f"operators[{index}]") for index, entry in enumerate(entries)]

    def _listed(self, given: object, key: str, what: str) -> Sequence[object]:
        if isinstance(given, str | bytes) or not isinstance(given, Sequence):
            raise UsageError(f"{self._where}: {key} is {quote_value(given)}; it must be a list of {what}.")
        return given

    def _contract(self, entry: object, place: str) -> Plain:
        if isinstance(entry, str | Mapping):
            return plain_of(entry, f"{self._where}: {place}")
        if not isinstance(entry, Contract):
            raise UsageError(
                f"{self._where}: {place} is {quote_value(entry)}, not a contract. Decorate a function with "
                "@chaosagent.contract(...), or give the name of a contract."
            )
        spec = _spec_of(entry)
        if spec is not None:
            return spec
        module = str(getattr(entry.function, "__module__", "")) if isinstance(entry, FunctionContract) else ""
        return self._reference(entry, "contract", module, entry.id, as_file=False)

    def _operator(self, entry: object, place: str) -> Plain:
        if isinstance(entry, str | Mapping):
            return plain_of(entry, f"{self._where}: {place}")
        if isinstance(entry, Choices):
            places = {"interfaces": entry.interfaces, "agents": entry.agents}
            return plain_of({"operator": entry.operator, **places, **entry.values}, f"{self._where}: {place}")
        if isinstance(entry, type) and isinstance(getattr(entry, "name", None), str) and hasattr(entry, "apply"):
            return str(cast("type[Operator]", entry).name)
        if isinstance(entry, Operator):
            return {"operator": entry.name, **{name: [value] for name, value in parameters_of(entry)}}
        raise UsageError(
            f"{self._where}: {place} is {quote_value(entry)}, no operator. Give an operator, its class, its name or a "
            "mapping with `operator`; `chaosagent list operators` shows the names."
        )

    def _reference(self, found: object, kind: str, module: str, called: str, *, as_file: bool) -> str:
        reference = reference_of(found, kind, defined_in=module, called=called, as_file=as_file)
        if reference.only_here:
            self.only_here.append(reference.only_here)
        known = self.objects.setdefault(reference.text, found)
        assert known is found or kind != "target"
        if known is not found:
            raise UsageError(f"{self._where}: two contracts are called {called!r}. Give one of them another id.")
        return reference.text


def _spec_of(contract: Contract) -> Plain:
    """Return the entry of a study file that makes a contract of a template again; `None` where there is none."""
    if not isinstance(contract, ContractSettings) or type(contract) not in TEMPLATES:
        return None
    fields = {field.name: field for field in dataclasses.fields(contract)}
    spec: dict[str, Plain] = {"contract": str(fields["id"].default)}
    for name, field in fields.items():
        value = getattr(contract, name)
        if not field.init or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        plain = _setting_of(value)
        if plain is None:
            return None
        spec[name] = plain
    return spec


def _setting_of(value: object) -> Plain:
    """Return a setting as study files write it; `None` where they cannot."""
    if isinstance(value, enum.Enum):
        return _setting_of(value.value)
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Contract):
        return _spec_of(value)
    if isinstance(value, tuple | list | frozenset | set):
        inside = [_setting_of(one) for one in (sorted(value) if isinstance(value, frozenset | set) else value)]
        return None if None in inside else inside
    if isinstance(value, Mapping):
        pairs = {str(key): _setting_of(one) for key, one in value.items()}
        return None if None in pairs.values() else pairs
    return None
