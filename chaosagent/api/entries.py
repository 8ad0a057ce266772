"""Objects of a study written in Python, as the entries and references that a study file has for them."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeAlias, cast

from chaosagent.api.arguments import plain_of
from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import TEMPLATES
from chaosagent.contracts.contract import Contract
from chaosagent.contracts.custom import FunctionContract
from chaosagent.contracts.settings import ContractSettings
from chaosagent.errors import UsageError
from chaosagent.faults.operator import Operator, parameters_of
from chaosagent.faults.space import Choices
from chaosagent.studyfile.located import quote_value
from chaosagent.targets.target import Target

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


class Reference(NamedTuple):
    """How an object is named.

    Attributes:
        text: `module:attribute` or `file.py:attribute`.
        only_here: Why no other process can import it, a clause; empty if one can.
    """

    text: str
    only_here: str = ""


def reference_of(found: object, kind: str, *, defined_in: str, called: str, as_file: bool) -> Reference:
    """Return the reference of an object that stands at the top level of a module.

    Args:
        found: The object.
        kind: What it is, as messages name it: `"target"`.
        defined_in: Name of the module that defines it, as far as is known; it is looked at first.
        called: Its own name, for an object that stands nowhere.
        as_file: Name it by its file where that stands in the working directory and in no package, as study files do.

    Determinism: modules are looked at in the order of their names, so equal programs give equal references.
    """
    first: Reference | None = None
    for module, attribute in _places_of(found, defined_in):
        text = _importable_name(module, attribute, as_file=as_file)
        if text:
            return Reference(text)
        if first is None:
            first = Reference(f"{module.__name__}:{attribute}", f"{kind} {called!r} stands in {_named(module)}")
    if first is not None:
        return first
    why = f"{kind} {called!r} has no name at the top level of a module"
    return Reference(f"{defined_in or '__main__'}:{called}", why)


def _named(module: ModuleType) -> str:
    if module.__name__ == "__main__":
        file = getattr(module, "__file__", None)
        what = "no file" if file is None else f"{Path(file).name}, which is no module"
        return f"the running program, {what} that another process can import"
    return f"module {module.__name__!r}, which no other process can import"


def _places_of(found: object, defined_in: str) -> Iterator[tuple[ModuleType, str]]:
    names = dict.fromkeys((defined_in, "__main__", *sorted(sys.modules)))
    for name in names:
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if value is found and attribute.isidentifier():
                    yield module, attribute


def _importable_name(module: ModuleType, attribute: str, *, as_file: bool) -> str:
    """Return how another process imports an attribute of a module; empty where it cannot."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return ""
    path = Path(file).resolve()
    name = _name_of(module, path)
    is_script = as_file and path.suffix == ".py" and path.is_file()
    if is_script and "." not in name and path.is_relative_to(here := Path.cwd().resolve()):
        return f"{path.relative_to(here).as_posix()}:{attribute}"
    if _is_found(name, path):
        return f"{name}:{attribute}"
    return f"{path.as_posix()}:{attribute}" if is_script else ""


def _name_of(module: ModuleType, path: Path) -> str:
    """Return the name under which a module would be imported; the running program has another one than its own."""
    if module.__name__ != "__main__":
        return module.__name__
    spec = getattr(module, "__spec__", None)  # of `python -m package.module`
    return path.stem if spec is None else str(spec.name)


def _is_found(name: str, path: Path) -> bool:
    """Whether importing a name would load the file at a path; nothing is imported for the answer."""
    folders: list[str] | None = None
    spec: ModuleSpec | None = None
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), folders)
        if spec is None:
            return False
        folders = list(spec.submodule_search_locations or ())
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path
