"""What `import chaosagent` offers, and what it costs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import chaosagent

ROOT = Path(__file__).parents[1]
NOT_PUBLIC = ("experiments", "replays")
"""`experiments` holds examples and measurements; the records of `replays` are offered by `chaosagent` itself."""
ONE_PER_FILE = tuple((ROOT / "operators").glob("*/__init__.py"))
"""Folders with one operator per file: the files are the list, and all of them are public."""


@pytest.mark.parametrize("name", chaosagent.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(chaosagent, name)

    assert getattr(found, "__name__", name) == name
    assert name in dir(chaosagent)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'chaosagent' has no attribute 'nothing'"):
        chaosagent.nothing  # noqa: B018  # the look-up is what is tested


def test_the_version_is_that_of_the_package() -> None:
    assert chaosagent.__version__[0].isdigit()


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import chaosagent; print(sorted(set(sys.modules) - before))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert "chaosagent" in done.stdout
    assert not any(heavy in done.stdout for heavy in ("numpy", "asyncio", "pydantic", "rich", "click", "chaosagent."))


def _packages() -> list[Path]:
    """Return the folders of all packages that others may import."""
    tops = [ROOT / "chaosagent", *(ROOT / name for name in ("operators", "replays", "searchers"))]
    found = {path.parent for top in tops for path in top.rglob("__init__.py")}
    found -= {path.parent for path in ONE_PER_FILE}
    return sorted(path for path in found if not set(path.relative_to(ROOT).parts) & set(NOT_PUBLIC))


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _imported(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)


@pytest.mark.parametrize("package", _packages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_package_lists_what_is_public(package: Path) -> None:
    tree = ast.parse((package / "__init__.py").read_text("utf-8"))
    given = [node.value for node in tree.body for name in _assigned(node) if name == "__all__"]  # type: ignore[attr-defined]  # both kinds of assignment have a value

    assert len(given) == 1, f"{package}/__init__.py:1: has no `__all__`. List its public names, or none."
    listed = ast.literal_eval(given[0])
    modules = {child.stem for child in package.iterdir() if child.suffix == ".py" or (child / "__init__.py").exists()}
    defined = {name for node in tree.body for name in (getattr(node, "name", ""), *_assigned(node), *_imported(node))}
    assert listed == sorted(set(listed))
    assert package.name == "chaosagent" or set(listed) <= modules | defined
    assert not any(name.startswith("_") for name in listed)
