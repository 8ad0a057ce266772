"""Every contract template by its name, as study files call it.

```yaml
contracts:
  - at-most-once
  - contract: ordering
    first: orders.verify
    then: payments.refund
    severity: soft
  - my_agent.contracts:no_night_refunds
```

The settings of an entry are the keyword arguments of the template's class; `contract` names the template, `id` the
contract where it should not have the template's name.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import CONTRACTS, Contract, ContractFactory
from chaosagent.contracts.settings import ContractSettings
from chaosagent.contracts.templates.all_or_nothing import AllOrNothing
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.templates.containment import Containment
from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.contracts.templates.least_privilege import LeastPrivilege
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.contracts.templates.no_extra_effects import NoExtraEffects
from chaosagent.contracts.templates.no_forbidden_values import NoForbiddenValues
from chaosagent.contracts.templates.no_ghosts import NoGhosts
from chaosagent.contracts.templates.no_leak import NoLeak
from chaosagent.contracts.templates.objective import Objective
from chaosagent.contracts.templates.ordering import Ordering
from chaosagent.contracts.templates.progress import Progress
from chaosagent.contracts.templates.promises_kept import PromisesKept
from chaosagent.contracts.templates.refusal_of_misuse import RefusalOfMisuse
from chaosagent.contracts.templates.role_boundary import RoleBoundary
from chaosagent.contracts.templates.supported_claims import SupportedClaims
from chaosagent.contracts.templates.termination import Termination
from chaosagent.contracts.templates.verify_before_acting import VerifyBeforeActing
from chaosagent.errors import UsageError
from chaosagent.importable import import_module, stop_hint
from chaosagent.vocabulary import Severity

__all__ = ["Template", "default_contracts", "entries", "parse_contract"]

TEMPLATES: tuple[type[ContractSettings], ...] = (
    AllOrNothing,
    AtMostOnce,
    Containment,
    LeastPrivilege,
    NoCrash,
    NoExtraEffects,
    NoForbiddenValues,
    NoGhosts,
    NoLeak,
    Objective,
    Ordering,
    Progress,
    PromisesKept,
    RefusalOfMisuse,
    RoleBoundary,
    SupportedClaims,
    Termination,
    VerifyBeforeActing,
)


def entries() -> dict[str, ContractFactory]:
    """Return a factory for every template, by name."""
    templates = [Template(kind) for kind in TEMPLATES]
    return {template.name: template for template in templates}


class Template:
    """Makes a contract of a template from plain settings.

    Attributes:
        name: Of the template.
        summary: What it says, in one line.
    """

    def __init__(self, kind: type[ContractSettings]) -> None:
        self._kind = kind
        self._fields = {field.name: field for field in dataclasses.fields(kind)}
        self.name = str(self._fields["id"].default)
        self.summary = (kind.__doc__ or "").partition("\n")[0]

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of its settings, sorted."""
        return tuple(sorted(self._fields))

    @functools.cached_property
    def needed(self) -> tuple[str, ...]:
        """The names of the settings that must be given, sorted."""
        missing = dataclasses.MISSING
        return tuple(
            name
            for name, field in sorted(self._fields.items())
            if field.default is missing and field.default_factory is missing
        )

    def __call__(self, **settings: Plain) -> Contract:
        """Return the contract with some settings.

        Raises:
            UsageError: A setting is unknown, missing or not allowed.
        """
        for name in settings:
            if name not in self._fields:
                raise UsageError(self._unknown(name))
        for name in self.needed:
            if name not in settings:
                raise UsageError(f"{self.name}: the setting {name!r} is missing; it must be given.")
        given: dict[str, object] = dict(settings)
        if isinstance(severity := settings.get("severity"), str):
            given["severity"] = _severity(self.name, severity)
        if isinstance(requires := settings.get("requires"), str | Mapping):
            given["requires"] = parse_contract(requires)
        if isinstance(final := settings.get("final"), list | tuple):
            given["final"] = tuple(parse_contract(inside) for inside in final)
        return cast(Contract, self._kind(**given))  # type: ignore[arg-type]  # the template checks its settings

    def _unknown(self, name: str) -> str:
        nearest = difflib.get_close_matches(name, self.settings, n=1, cutoff=0.4)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        return f"{self.name}: unknown setting {name!r}.{hint} Known: {', '.join(self.settings)}."


def parse_contract(entry: Plain, where: str = "") -> Contract:
    """Return the contract that an entry of a study file describes: a name, a place, or a mapping.

    A place is `package.module:contract`; a mapping has the key `contract` and the settings of the template.

    Raises:
        UnknownNameError: No template has the name.
        UsageError: The entry is neither, or its settings are not allowed.
    """
    place = f"{where}: " if where else ""
    if isinstance(entry, str):
        return _from_module(entry, place) if ":" in entry else CONTRACTS.get(entry, where)()
    name = entry.get("contract") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(name, str):
        raise UsageError(
            f"{place}{entry!r} is no contract. Write its name, or a mapping with `contract: <name>` and its settings."
        )
    factory = CONTRACTS.get(name, where)
    try:
        return factory(**{key: value for key, value in entry.items() if key != "contract"})
    except UsageError as error:
        if not place:
            raise
        raise UsageError(f"{place}{error}") from error


def _from_module(name: str, place: str) -> Contract:
    """Return the contract that stands in somebody's module, named `"package.module:contract"`."""
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{place}contract {name!r}: {module!r} is no name of a module. Write module:contract.")
    hint = ""
    try:
        loaded = import_module(module)
        hint = stop_hint(loaded)
        found = getattr(loaded, attribute)
    except AttributeError as error:
        known = _contracts_in(sys.modules.get(module), attribute)
        raise UsageError(f"{place}contract {name!r} cannot be loaded: {error}. {known}{hint}") from error
    except ImportError as error:
        known = f"The contracts that need no module are {', '.join(sorted(CONTRACTS))}."
        raise UsageError(f"{place}contract {name!r} cannot be loaded: {error}. {known}{hint}") from error
    except (Exception, SystemExit) as error:  # plug-in loading is a seam: whatever a module raises is its own fault
        raise UsageError(f"{place}contract {name!r} fails on import: {type(error).__name__}: {error}") from error
    if not isinstance(found, Contract):
        kind = f"the function {found.__name__}" if inspect.isfunction(found) else type(found).__name__
        raise UsageError(f"{place}{name!r} is {kind}, not a contract. Decorate the function with @contract.")
    return found


def _contracts_in(module: ModuleType | None, wanted: str) -> str:
    """Say which contracts a module has, and which of them has the nearest name."""
    values = {} if module is None else vars(module)
    known = sorted(name for name, one in values.items() if isinstance(one, Contract) and not inspect.isclass(one))
    if not known:
        return "The module has no contract: decorate a function with @contract."
    nearest = difflib.get_close_matches(wanted, known, n=1, cutoff=0.4)
    hint = f"Did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}The contracts of the module are {', '.join(known)}."


def _severity(contract: str, text: str) -> Severity:
    try:
        return Severity(text)
    except ValueError:
        raise UsageError(f"{contract}(severity={text!r}): must be 'hard' or 'soft'.") from None
