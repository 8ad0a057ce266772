"""The version is that of the installed package; a checkout works without being installed."""

import importlib.metadata

import pytest

from chaosagent.study.store.tables import version_of_store
from chaosagent.version import version


def test_the_version_is_that_of_the_installed_package() -> None:
    assert version() == importlib.metadata.version("chaosagent")


def test_a_checkout_that_is_not_installed_has_a_version_for_stores_and_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)

    assert version() == "not installed"
    assert version_of_store().startswith("not installed, store format")
