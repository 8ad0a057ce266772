"""Lists of what there is: operators, searchers, contracts, targets, patterns of failure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import Template, default_contracts
from chaosagent.contracts.contract import CONTRACTS
from chaosagent.errors import UnknownNameError
from chaosagent.faults.operator import OPERATORS, CostModel, Operator, lattice
from chaosagent.faults.presets import PRESETS, operators_of, presets_with
from chaosagent.report.causes.pattern import PATTERNS
from chaosagent.report.page import Page, bad, faint, name
from chaosagent.study.certificate import RULES
from chaosagent.study.searcher import DEFAULT_SEARCHER, SEARCHERS
from chaosagent.study.searcher_settings import describe_annotation, settings_of
from chaosagent.targets.loading import TARGETS, known_targets


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing of a kind.

    Attributes:
        name: As study files name it, or the command line.
        summary: One line.
        facts: What can be set or is worth knowing, as plain data.
        lines: The same for people, a line each.
        text: What is said in place of these lines where it is the only one asked for.
    """

    name: str
    summary: str
    facts: Mapping[str, Plain] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All entries of a kind, and the plug-ins that failed to load.

    Attributes:
        kind: In the plural.
        entries: Sorted by name.
        failures: Errors of plug-ins, by name.
        remark: What is worth saying about all of them.
    """

    kind: str
    entries: Sequence[Entry]
    failures: Mapping[str, str]
    remark: str = ""

    def only(self, name: str) -> Catalogue:
        """Return the list with one entry.

        Raises:
            UnknownNameError: There is no entry of that name.
        """
        known = {entry.name: entry for entry in self.entries}
        if name not in known:
            raise UnknownNameError(self.kind.removesuffix("s"), name, known, f"chaosagent list {self.kind}")
        entry = known[name]
        return Catalogue(self.kind, [replace(entry, lines=entry.text or entry.lines)], {})

    def to_page(self) -> Page:
        """Return the list for people."""
        page = Page()
        for entry in self.entries:
            page.line(name(entry.name), f"  {entry.summary}", hang=4)
            for line in entry.lines:
                page.line(line, indent=4, hang=4)
        for plugin, error in self.failures.items():
            page.line(bad(f"{plugin}  failed to load: "), error)
        if self.remark:
            page.gap().line(faint(self.remark), hang=0)
        return page

    def to_json(self) -> dict[str, Plain]:
        """Return the list as plain data."""
        return {
            self.kind: [{"name": entry.name, "summary": entry.summary, **entry.facts} for entry in self.entries],
            "failed": dict(self.failures),
        }


def operators() -> Catalogue:
    """Return the operators with their parameters, domains, searched levels and cost."""
    entries = [_operator(registered, OPERATORS.get(registered)) for registered in OPERATORS]
    presets = "; ".join(f"`{preset}` for {len(operators_of(preset))} operators" for preset in PRESETS)
    remark = (
        f"In `operators:` of a study file, presets stand for several: {presets}; `*` for all. "
        "`searched` are the values that a search tries; a schedule may use any value of the domain. The cost is that "
        "of one landed injection with the usual weights. Where nothing else is said, an operator is searched by "
        "default."
    )
    return Catalogue("operators", entries, OPERATORS.failures, remark)


def _operator(registered: str, kind: type[Operator]) -> Entry:
    model = CostModel()
    costs = sorted({model.of(operator) for operator in lattice(kind)})
    boundaries = sorted(boundary.value for boundary in kind.boundaries)
    parameters: dict[str, Plain] = {}
    by_default = getattr(kind, "by_default", True)
    presets = presets_with(registered)
    others = "".join(f" or the preset `{preset}`" for preset in presets if preset != "default")
    lines = [_cost_line(costs, boundaries) + ("" if by_default else f"; searched where a study names it{others}")]
    for parameter, domain in kind.parameters.items():
        levels = list(domain.levels)
        parameters[parameter] = {"domain": domain.describe(), "levels": list[Plain](levels)}
        shown = ", ".join(map(_level, levels))
        lines.append(f"{parameter}: {domain.describe()}; searched: {shown}")
    facts: dict[str, Plain] = {
        "boundaries": list[Plain](boundaries),
        "parameters": parameters,
        "cost_min": costs[0],
        "cost_max": costs[-1],
        "by_default": by_default,
        "presets": list[Plain](presets),
    }
    return Entry(registered, first_line(kind), facts, tuple(lines))


def _cost_line(costs: Sequence[float], boundaries: Sequence[str]) -> str:
    span = f"{costs[0]:g}" if len(costs) == 1 else f"{costs[0]:g} to {costs[-1]:g}"
    return f"on {', '.join(boundaries)}; cost {span}"


def _level(level: object) -> str:
    text = repr(level)
    return text if len(text) <= 60 else f"{text[:60]}... {len(text) - 60} more characters"


def searchers() -> Catalogue:
    """Return the searchers with their settings and what those may be, and which one a study takes that names none."""
    return Catalogue("searchers", [_searcher(registered) for registered in SEARCHERS], SEARCHERS.failures)


def _searcher(registered: str) -> Entry:
    factory = SEARCHERS.get(registered)
    annotations = settings_of(factory)
    settings: dict[str, Plain] = {}
    lines: list[str] = []
    for setting, parameter in inspect.signature(factory).parameters.items():
        if setting == "problem":
            continue
        default = None if parameter.default is inspect.Parameter.empty else parameter.default
        settings[setting] = (
            default if default is None or isinstance(default, bool | int | float | str) else repr(default)
        )
        meaning = RULES.get(setting.upper()) or RULES.get(setting) or describe_annotation(annotations.get(setting))
        lines.append(f"{setting} = {default!r}" + (f": {meaning}" if meaning else ""))
    by_default = registered == DEFAULT_SEARCHER
    summary = f"{first_line(factory)}{' (the default)' * by_default}"
    return Entry(registered, summary, {"default": by_default, "settings": settings}, tuple(lines))


def contracts() -> Catalogue:
    """Return the contract templates with their settings, and which of them are on by default."""
    default = {contract.id for contract in default_contracts()}
    entries = [_contract(registered, registered in default) for registered in CONTRACTS]
    remark = "`default` in a study file stands for those that are on by default. Settings with * must be given."
    return Catalogue("contracts", entries, CONTRACTS.failures, remark)


def _contract(registered: str, by_default: bool) -> Entry:  # noqa: FBT001  # a fact of the entry, not a switch
    factory = CONTRACTS.get(registered)
    if not isinstance(factory, Template):
        return Entry(registered, first_line(factory), {"default": by_default, "settings": []})
    settings = [f"{setting}*" if setting in factory.needed else setting for setting in factory.settings]
    on = " (on by default)" if by_default else ""
    facts: dict[str, Plain] = {
        "default": by_default,
        "settings": list[Plain](factory.settings),
        "needed": list[Plain](factory.needed),
    }
    return Entry(registered, f"{factory.summary}{on}", facts, (f"settings: {', '.join(settings)}",))


def targets() -> Catalogue:
    """Return the targets that have a name; others are named by module or file."""
    entries = [Entry(registered, summary) for registered, summary in known_targets().items()]
    remark = "Your own: `target: agent.py:agent` in a study file next to agent.py, or `target: package.module:agent`."
    return Catalogue("targets", entries, TARGETS.failures, remark)


def patterns() -> Catalogue:
    """Return the known patterns of failure, with the usual fix of each."""
    entries = [
        Entry(
            one.id,
            one.name,
            {"fix": one.fix, "text": "\n".join(one.text)},
            (f"Fix: {one.fix}",),
            tuple(one.text),
        )
        for one in PATTERNS
    ]
    remark = "With the name of a pattern behind it, the command says what happens, what helps, and when it is named."
    return Catalogue("patterns", entries, {}, remark)


def first_line(thing: object) -> str:
    """Return the first line of a docstring, without its full stop."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].removesuffix(".")


CATALOGUES: Mapping[str, Callable[[], Catalogue]] = {
    "operators": operators,
    "searchers": searchers,
    "contracts": contracts,
    "targets": targets,
    "patterns": patterns,
}
