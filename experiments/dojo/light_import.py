"""AgentDojo without the SDKs of four model vendors.

`agentdojo.agent_pipeline` imports the SDKs of OpenAI, Anthropic, Google and Cohere as soon as anything below it is
imported, which takes seconds; its environments, tools and tasks use none of them. The two modules at fault are put
into `sys.modules` *deferred*: they know the constants at the top of their source, and execute themselves the first time
that anybody asks them for anything else. So nothing in `sys.modules` is fake, and other users of AgentDojo in the same
process get the real thing, SDKs and all, at their first use of it.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from chaosagent.extras import require

DEFERRED = ("agentdojo.agent_pipeline", "agentdojo.agent_pipeline.llms.google_llm")


def require_agentdojo(needed_by: str) -> ModuleType:
    """Import AgentDojo's suites and return the module that knows them, `agentdojo.task_suite.load_suites`.

    Args:
        needed_by: What the user asked for, as the message names it.

    Raises:
        MissingExtraError: AgentDojo is not installed.
    """
    require("agentdojo", extra="dojo", needed_by=needed_by)
    for name in DEFERRED:
        defer(name)
    return require("agentdojo.task_suite.load_suites", extra="dojo", needed_by=needed_by)


def defer(name: str) -> None:
    """Let a module execute at its first use; nothing happens if it is imported already or does not exist.

    Its parent package must exist.
    """
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    module = DeferredModule(name)
    for attribute, value in vars(importlib.util.module_from_spec(spec)).items():
        module.__dict__.setdefault(attribute, value)
    module.__dict__.update(_module_attributes(spec), **dict(_constants(spec)))
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)


class DeferredModule(ModuleType):
    """A real module that was not executed yet."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks through sys.modules asks for those, and means no use of the module
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        self.__class__ = ModuleType  # type: ignore[assignment]  # from now on an ordinary module
        try:
            spec.loader.exec_module(self)
        except BaseException:
            self.__class__ = DeferredModule
            raise
        return getattr(self, name)


def _module_attributes(spec: ModuleSpec) -> dict[str, object]:
    return {"__spec__": spec, "__loader__": spec.loader, "__package__": spec.parent}


def _constants(spec: ModuleSpec) -> Iterator[tuple[str, object]]:
    """Names and values of the literals that the source assigns at its top level."""
    source = spec.loader.get_source(spec.name)  # type: ignore[union-attr]  # a loader of source files has it
    for node in ast.parse(source or "").body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value.value
