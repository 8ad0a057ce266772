"""What is installed: every package, under one name, and nothing generic in site-packages."""

import fnmatch
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from chaosagent import experiments

ROOT = Path(__file__).parents[1]
MAPPED = ("operators", "searchers", "replays", "experiments")
NOT_INSTALLED = Path("experiments", "benchmarks")
"""Benchmarks, and what was measured with them: they run from a checkout."""
BUILD = "from setuptools import build_meta; import sys; getattr(build_meta, sys.argv[1])(sys.argv[2])"
NOT_COPIED = (
    ".git",
    ".venv",
    ".venv-crewai",
    "build",
    "dist",
    "demo-out",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)


def test_every_package_folder_is_listed_in_pyproject() -> None:
    listed = set(_setuptools()["packages"])

    found = {_package(path.parent) for path in _files() if path.name == "__init__.py"}

    complaints = [
        f"pyproject.toml:1: [tool.setuptools] packages does not name {name}, a package folder. Add it."
        for name in sorted(found - listed)
    ] + [
        f"pyproject.toml:1: [tool.setuptools] packages names {name}, which has no __init__.py. "
        "Add the file, or take the name out."
        for name in sorted(listed - found)
    ]
    assert not complaints, "\n".join(complaints)


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in (*_files(), *(ROOT / NOT_INSTALLED).rglob("*.py")) if path.suffix == ".py"}

    complaints = [
        f"{folder.relative_to(ROOT)}:1: holds code but no __init__.py, so it is no package. "
        "Add an __init__.py with a one-line docstring."
        for folder in sorted(folders)
        if not (folder / "__init__.py").exists()
    ]

    assert not complaints, "\n".join(complaints)


def test_the_module_of_every_built_in_target_is_installed() -> None:
    listed = set(_setuptools()["packages"])

    modules = {name: entry.reference.partition(":")[0] for name, entry in experiments.entries().items()}

    assert len(modules) == 11
    for name, module in modules.items():
        assert module.rpartition(".")[0] in listed, f"pyproject.toml: packages lacks the one of target {name!r}."
        assert importlib.util.find_spec(module) is not None, f"There is no {module}, of target {name!r}."


def test_every_data_file_is_shipped() -> None:
    shipped = _setuptools()["package-data"]
    data = [path for path in _files() if path.suffix != ".py" and not _only_for_the_repository(path)]

    complaints = [
        f"{path.relative_to(ROOT)}:1: is not shipped. Add its pattern to [tool.setuptools.package-data] in "
        "pyproject.toml."
        for path in data
        if not _is_shipped(path, shipped)
    ]

    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("name", MAPPED)
def test_the_link_inside_the_package_is_relative_and_leads_to_the_folder(name: str) -> None:
    link = ROOT / "chaosagent" / name

    assert link.is_symlink(), f"chaosagent/{name}:1: must be a link; make it with ln -s ../{name} chaosagent/{name}"
    assert os.readlink(link) == f"../{name}"
    assert _setuptools()["package-dir"][f"chaosagent.{name}"] == name


@pytest.mark.parametrize("name", MAPPED)
def test_a_mapped_folder_refuses_every_other_name(name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, ROOT / name / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)

    with pytest.raises(ImportError, match=rf"imported as '{name}'; its only name is `chaosagent\.{name}`"):
        spec.loader.exec_module(module)


@pytest.mark.parametrize("name", MAPPED)
def test_a_mapped_folder_is_imported_under_its_own_name(name: str) -> None:
    module = importlib.import_module(f"chaosagent.{name}")

    assert module.__file__ is not None
    assert Path(module.__file__).resolve() == ROOT / name / "__init__.py"


@pytest.mark.slow
def test_a_wheel_holds_every_module_and_nothing_generic(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))

    wheel = _names_in_wheel(checkout, tmp_path / "wheel")

    shipped = _setuptools()["package-data"]
    expected = {
        str(PurePosixPath(*_package(path.parent, checkout).split("."), path.name))
        for path in _files(checkout)
        if path.suffix == ".py" or _is_shipped(path, shipped, checkout)
    }
    assert wheel == expected


@pytest.mark.slow
def test_the_source_archive_builds_the_same_wheel(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
    _build(checkout, "build_sdist", tmp_path / "archive")
    (archive,) = (tmp_path / "archive").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()

    from_archive = _names_in_wheel(unpacked, tmp_path / "wheel-of-archive")

    assert from_archive == _names_in_wheel(checkout, tmp_path / "wheel")


def _names_in_wheel(checkout: Path, target: Path) -> set[str]:
    """Build a wheel and return its files, but those of its own metadata."""
    _build(checkout, "build_wheel", target)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    return {name for name in names if not name.split("/")[0].endswith(".dist-info")}


def _build(checkout: Path, what: str, target: Path) -> None:
    """Call the build backend as pip does, without an environment of its own: no network."""
    target.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(target)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _setuptools() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as opened:
        table: dict[str, Any] = tomllib.load(opened)["tool"]["setuptools"]
    return table


def _files(root: Path = ROOT) -> list[Path]:
    """Every file that may be installed, at its real place, sorted."""
    found = []
    for top in ("chaosagent", *MAPPED):
        for folder, folders, names in os.walk(root / top):
            folders[:] = [
                name for name in folders if name != "__pycache__" and Path(folder, name) != root / NOT_INSTALLED
            ]
            found += [Path(folder, name) for name in names if not name.endswith(".pyc")]
    return sorted(path for path in found if not path.is_symlink())


def _package(folder: Path, root: Path = ROOT) -> str:
    parts = folder.relative_to(root).parts
    return ".".join(parts if parts[0] == "chaosagent" else ("chaosagent", *parts))


def _is_shipped(path: Path, shipped: dict[str, list[str]], root: Path = ROOT) -> bool:
    patterns = shipped.get(_package(path.parent, root), [])
    return any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)


def _only_for_the_repository(path: Path) -> bool:
    """Whether a file explains a folder to who reads the repository."""
    return path.name == "README.md" and "experiments" not in path.parts
