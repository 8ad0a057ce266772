"""The keyword arguments that every `through_doors` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict

from chaosagent.adapters.doors import Tools
from chaosagent.canonical import Plain
from chaosagent.effects.failed_when import FailedWhenForm
from chaosagent.effects.rule import EffectRule
from chaosagent.errors import UnknownNameError


class ToolOptions(TypedDict, total=False):
    """What a target says about its tools; every `through_doors` takes it by keyword.

    Attributes:
        effects: What a tool commits, by the tool's name; see `chaosagent.effect`.
        failed_when: Which answers of tools are failed calls: one condition, or conditions by the tool's name; see
            `chaosagent.effects.condition`.
        read_only: Tools that change nothing.
        stale: What a cache would hold, by the tool's name: a function of the tool's arguments.
        errors: Exception classes that tools, models and memories raise on purpose. A replay can raise only these and
            the classes that the adapter knows.
        egress: Tools that send their arguments out of the organisation.
    """

    effects: Mapping[str, EffectRule] | None
    failed_when: FailedWhenForm | None
    read_only: Iterable[str]
    stale: Mapping[str, Callable[[Mapping[str, Plain]], Plain]] | None
    errors: Sequence[type[Exception]]
    egress: Iterable[str]


def tools_from(options: ToolOptions) -> Tools:
    """Return the options of a `through_doors` as doors take them.

    Raises:
        UnknownNameError: There is no such option.
        TargetError: A text stands where a list of names is expected.
        UsageError: `failed_when` holds no conditions.
    """
    for name in options:
        if name not in ToolOptions.__annotations__:
            raise UnknownNameError("option", name, ToolOptions.__annotations__, "through_doors")
    return Tools(
        effects=options.get("effects") or {},
        read_only=options.get("read_only", ()),
        stale=options.get("stale") or {},
        errors=tuple(options.get("errors", ())),
        egress=options.get("egress", ()),
        failed_when=options.get("failed_when"),
    )
