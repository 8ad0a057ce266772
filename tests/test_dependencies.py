"""What is declared is imported, and what is imported is declared; the core does without every extra."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("chaosagent", "operators", "searchers", "replays", "experiments")
IMPORTERS = frozenset({"require", "installed", "import_module", "find_spec"})
"""Functions whose first argument is a module that they import, or look for."""

NAMES: Mapping[str, str] = {
    "agents": "openai-agents",
    "llama_cpp": "llama-cpp-python",
    "llama_index": "llama-index-core",
    "pydantic_ai": "pydantic-ai-slim",
    "toxiproxy": "toxiproxy-python",
    "yaml": "pyyaml",
}
"""Packages that are imported under another name than they are installed by."""

BROUGHT_BY: Mapping[str, str] = {
    "anyio": "mcp",
    "httpx2": "mcp",
    "langchain_core": "langchain",
    "mcp_types": "mcp",
    "openai": "openai-agents",
    "pydantic_core": "pydantic",
    "requests": "toxiproxy-python",
    "sqlalchemy": "optuna",
}
"""Packages that we use only together with one that is declared, and that requires them."""

WAITING: Mapping[str, str] = {}
"""Packages that are declared and imported nowhere, with the reason."""

NOT_OURS: Mapping[str, str] = {
    "examples": "experiments/untouched/README.md: an application that is run as it is",
    "logfire": "experiments/untouched/README.md: an application brings it",
    "loguru": "experiments/tau2/README.md: tau2-bench brings it",
    "nevergrad": "experiments/benchmarks/planted/engines/requirements.txt: an engine to compare with",
    "pandas": "to_frame() uses it where the user has it",
    "pydantic_ai_examples": "experiments/untouched/README.md: an application that is run as it is",
    "ribs": "experiments/benchmarks/planted/engines/requirements.txt: an engine to compare with",
    "tau2": "experiments/tau2/README.md: a benchmark",
    "verifai": "experiments/benchmarks/planted/engines/requirements.txt: an engine to compare with",
}
"""Packages that are imported where they are found, and declared nowhere, with the reason."""


@functools.cache
def declared() -> Mapping[str, frozenset[str]]:
    """Return the packages of the core, under `""`, and of each extra."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name: listed for name, listed in project["optional-dependencies"].items() if name != "all"}
    return {
        name: frozenset(_package_in(requirement) for requirement in listed)
        for name, listed in {"": project["dependencies"], **extras}.items()
    }


@functools.cache
def imported() -> Mapping[str, tuple[str, ...]]:
    """Return the packages that the product imports, each with the files that do."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in _files():
        for module in sorted(set(_modules_in(ast.parse(path.read_text("utf-8"))))):
            found[module].append(path.relative_to(ROOT).as_posix())
    return {module: tuple(files) for module, files in sorted(found.items())}


def _files() -> Iterator[Path]:
    for top in PRODUCT:
        for path in sorted((ROOT / top).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def _modules_in(tree: ast.Module) -> Iterator[str]:
    """Yield the packages of others that a file imports, also inside functions and through `require`."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and _called(node) in IMPORTERS and node.args:
            first = node.args[0]
            names = [first.value] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []
        for name in names:
            package = name.partition(".")[0]
            if package not in sys.stdlib_module_names and package != "chaosagent":
                yield package


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _package_in(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower()


def _package_of(module: str) -> str:
    return NAMES.get(module, module.replace("_", "-"))


def test_every_declared_package_is_imported_somewhere() -> None:
    used = {_package_of(module) for module in imported()}
    needed = {package for extra, packages in declared().items() if extra != "dev" for package in packages}

    complaints = [
        f"pyproject.toml:1: {package} is declared, and nothing imports it. Remove it, or say in "
        "tests/test_dependencies.py what it waits for."
        for package in sorted(needed - used - WAITING.keys())
    ]

    assert not complaints, "\n".join(complaints)
    assert not WAITING.keys() & used, "what is imported waits no more: remove it from WAITING"


def test_every_imported_package_is_declared() -> None:
    listed = {package for packages in declared().values() for package in packages}
    allowed = {*BROUGHT_BY, *NOT_OURS}

    complaints = [
        f"{files[0]}:1: imports {module}, which pyproject.toml does not declare. Add it to an extra, with a reason in "
        ".github/CONTRIBUTING.md; if it is declared under another name, add it to NAMES in this file."
        for module, files in imported().items()
        if module not in allowed and _package_of(module) not in listed
    ]

    assert not complaints, "\n".join(complaints)
    assert allowed - {"verifai"} <= imported().keys(), "remove what nothing imports from BROUGHT_BY and NOT_OURS"
    assert set(BROUGHT_BY.values()) <= listed


@pytest.mark.parametrize("module", BROUGHT_BY)
def test_what_another_package_brings_is_required_by_it(module: str) -> None:
    try:
        required = importlib.metadata.requires(BROUGHT_BY[module]) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{BROUGHT_BY[module]} is not installed")

    assert _package_of(module) in {_package_in(requirement) for requirement in required}


def test_what_imports_only_where_it_is_needed_is_found_too() -> None:
    text = "import yaml.nodes\ndef f():\n    import ray\n    return require('scipy.stats', extra='statistics')\n"

    assert set(_modules_in(ast.parse(text))) == {"yaml", "ray", "scipy"}


def test_the_core_is_what_replaying_needs() -> None:
    assert declared()[""] == {"click", "msgpack", "pydantic", "pyyaml", "regex", "rich"}
    assert declared()["statistics"] == {"numpy", "scipy"}


CORE_ONLY = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
import chaosagent
result = chaosagent.search(chaosagent.Study("refund", budget=1.2), out="kept")
print(chaosagent.replay("kept/replays").totals, chaosagent.replay(result, mode="exact").totals)
print(chaosagent.load("kept").trials == result.trials)
"""


@pytest.mark.slow
def test_searching_and_replaying_do_without_every_extra(tmp_path: Path) -> None:
    core = declared()[""]
    modules = {module for module in imported() if _package_of(module) not in core and module != "pydantic_core"}
    code = CORE_ONLY.format(refused=sorted(modules | {"numpy", "scipy"}))

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'VIOLATED': 3} {'REPRODUCED': 3}\nTrue\n"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("chaosagent", cache_dir=None)

    # import-linter looks for circles among the children of a package, and so misses those of a package and its modules.
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    TopologicalSorter(imports).prepare()  # raises a CycleError that names the modules of a circle
