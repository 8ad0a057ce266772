"""What `chaosagent check` looks for: a file of contracts, and what spans do not say of tools.

```yaml
contracts: [at-most-once, no-leak]        # as in a study file; the default ones when left out
effects:                                  # what tools commit, by the arguments that identify it
  refund: [order]
  mail.send: {identity: [to, subject], impact: harmless, kind: mail}
  set_status: {identity: [order, status], idempotent: true}   # the same again is no second effect
  book: rules.py:book                     # a function of arguments and answer that returns effects
failed_when: "^Error"                     # which answers are failed calls: of all tools, or by tool, see
                                          # `chaosagent.effects.condition`
read_only: [get_order]                    # tools that commit nothing
egress: [mail.send]                       # tools that send what they are given out of the organisation
canaries: [SECRET-1234]                   # texts that must not leave
forbidden: ["account 666"]                # values that no action may carry
```

A study file is one too; what it says of anything else is passed over.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.contract import Contract
from chaosagent.effects.failed_when import failed_when_from
from chaosagent.effects.rule import effect_rule_from
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.execution.trace_checks import Checks
from chaosagent.importable import make_importable
from chaosagent.studyfile.settings import StudySettings
from chaosagent.targets.references import load_object
from chaosagent.trace.genai_content import ToolRules
from chaosagent.vocabulary import Labels
from chaosagent.yaml_file import Keys, Located, quote_value, read_yaml

KEYS = ("canaries", "contracts", "effects", "egress", "failed_when", "forbidden", "read_only")
DEFAULT = "default"
KIND = "file of contracts"


def load_checks(path: Path | None, names: Sequence[str]) -> Checks:
    """Return what traces are to be checked for.

    Args:
        path: A file of contracts or a study file; nothing is known of tools without one.
        names: Contracts that take the place of the file's; `module:attribute` or names.

    Raises:
        UsageError: The file cannot be read, or says something that is not allowed.
    """
    if path is None:
        make_importable(Path.cwd())
        return Checks(_contracts([(name, "--contract") for name in names or (DEFAULT,)], Path.cwd(), {}))
    return parse_checks(read_yaml(path, KIND), path.resolve().parent, names)


def parse_checks(
    located: Located, folder: Path, names: Sequence[str] = (), objects: Mapping[str, object] | None = None
) -> Checks:
    """Return what the data of a file of contracts says.

    Args:
        located: The data.
        folder: Where contracts in files are looked for.
        names: Contracts that take the place of the file's.
        objects: Contracts that Python code has handed over, by the reference that stands for them.

    Raises:
        UsageError: It says something that is not allowed.
    """
    _check_keys(located)
    make_importable(folder)
    given = located.data.get("contracts", [DEFAULT])
    if not isinstance(given, list) or not given:
        raise _refused(located, ("contracts",), "a list of contracts")
    entries: list[tuple[Plain, str]] = [(name, "--contract") for name in names]
    entries = entries or [(entry, located.where("contracts", index)) for index, entry in enumerate(given)]
    effects = located.data.get("effects", {})
    if not isinstance(effects, dict):
        raise _refused(located, ("effects",), "a mapping from tools to the arguments that identify what they commit")

    def load(reference: str, where: str) -> object:
        return load_object(reference, where=where, folder=folder)

    return Checks(
        _contracts(entries, folder, objects or {}),
        ToolRules(
            {
                tool: effect_rule_from(rule, f"{located.where('effects', tool)}: effects.{tool}", load)
                for tool, rule in effects.items()
            },
            frozenset(_texts(located, "egress")),
            frozenset(_texts(located, "read_only")),
            failed_when_from(located.data.get("failed_when"), f"{located.where('failed_when')}: failed_when", load),
        ),
        Labels(forbidden=_texts(located, "forbidden"), canaries=_texts(located, "canaries")),
    )


def _check_keys(located: Located) -> None:
    known = sorted({*KEYS, *(StudySettings.model_fields if "target" in located.data else ())})
    for key in located.data:
        if key not in known:
            nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise UsageError(f"{located.where(key)}: unknown key {quote_value(key)}.{hint} Known: {', '.join(known)}.")


def _contracts(
    entries: Sequence[tuple[Plain, str]], folder: Path, objects: Mapping[str, object]
) -> tuple[Contract, ...]:
    """Return contracts, each once."""
    contracts: dict[str, Contract] = {}
    for entry, where in entries:
        for contract in default_contracts() if entry == DEFAULT else (_contract(entry, where, folder, objects),):
            if contract.id in contracts:
                raise UsageError(
                    f"{where}: there is a contract {contract.id!r} already. Give one of them another `id`."
                )
            contracts[contract.id] = contract
    return tuple(contracts.values())


def _contract(entry: Plain, where: str, folder: Path, objects: Mapping[str, object]) -> Contract:
    given = objects.get(entry) if isinstance(entry, str) else None
    if isinstance(given, Contract):
        return given
    try:
        return parse_contract(_importable(entry, where, folder), where)
    except UnknownNameError as error:
        if not isinstance(entry, str):
            raise
        raise UnknownNameError(error.kind, error.name, (*error.known, DEFAULT), where) from error


def _importable(entry: Plain, where: str, folder: Path) -> Plain:
    """Turn `file.py:attribute` into `module:attribute`."""
    if not isinstance(entry, str) or not entry.rpartition(":")[0].endswith(".py"):
        return entry
    place, _, attribute = entry.rpartition(":")
    relative = PurePosixPath(place)
    if relative.is_absolute() or ".." in relative.parts or not (folder / relative).is_file():
        raise UsageError(f"{where}: contract {entry!r}: name a file in {folder} or below.")
    return f"{'.'.join((*relative.parent.parts, relative.stem))}:{attribute}"


def _texts(located: Located, *keys: str) -> tuple[str, ...]:
    """Return a list of texts, or the only one; none when the key is not there."""
    given = _at(located, keys)
    if given is None:
        return ()
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(text, str) and text for text in listed):
        raise _refused(located, keys, "a list of texts that are not empty")
    return tuple(str(text) for text in listed)


def _at(located: Located, keys: Keys) -> Plain:
    value: Plain = located.data
    for key in keys:
        value = value.get(str(key)) if isinstance(value, dict) else None
    return value


def _refused(located: Located, keys: Keys, allowed: str, value: Plain = None) -> UsageError:
    named = ".".join(map(str, keys))
    found = _at(located, keys) if value is None else value
    return UsageError(f"{located.where(*keys)}: {named} is {quote_value(found)}; it must be {allowed}.")
