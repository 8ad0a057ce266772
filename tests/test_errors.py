"""Errors say what was given, what is allowed and what to do, and they cross processes."""

import importlib
import pickle

import pytest

from chaosagent.cli.listing import KINDS
from chaosagent.errors import (
    ChaosAgentError,
    MissingExtraError,
    OtherStudyError,
    PluginError,
    RecordError,
    SearcherError,
    SecretsError,
    StoredDataError,
    StudyError,
    TargetError,
    UnknownNameError,
    UsageError,
)
from chaosagent.extras import require
from chaosagent.vocabulary import ActionBlocked, ServiceFault, StatusError

ERRORS: list[Exception] = [
    UsageError("what is allowed"),
    UnknownNameError("operator", "service.dely", ["service.delay", "service.timeout"], "study.yaml, line 3"),
    MissingExtraError("optuna", "search", "the searcher tpe"),
    OtherStudyError("out", "budget: 2 instead of 1"),
    SearcherError("greedy", "ask", "returned None"),
    SecretsError("too slow"),
    RecordError("damaged"),
    StoredDataError("out/study.db", "table draw, row 3", "its checksum does not match", "Search anew."),
    TargetError("no outcome"),
    PluginError("raised"),
    StudyError("locked"),
    StatusError(503, "busy", 2.5),
    ActionBlocked("not allowed"),
    ServiceFault("Odd: text"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_the_way_between_processes(error: Exception) -> None:
    found = pickle.loads(pickle.dumps(error))

    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [(UsageError, 2), (RecordError, 2), (TargetError, 4), (PluginError, 4), (StudyError, 4)],
)
def test_each_error_knows_its_exit_code(kind: type[ChaosAgentError], exit_code: int) -> None:
    assert kind("text").exit_code == exit_code
    assert issubclass(kind, ChaosAgentError)


def test_an_unknown_name_offers_the_nearest_one() -> None:
    error = UnknownNameError("operator", "service.dely", ["service.timeout", "service.delay"], "study.yaml, line 3")

    assert str(error) == (
        "study.yaml, line 3: unknown operator 'service.dely'. Did you mean 'service.delay'? "
        "Known: service.delay, service.timeout."
    )
    assert error.nearest == "service.delay"


def test_an_unknown_name_offers_nothing_when_nothing_is_near() -> None:
    error = UnknownNameError("target", "xyz", [])

    assert str(error) == "unknown target 'xyz'. Known: none."


def test_of_many_known_names_some_are_listed_and_the_rest_counted() -> None:
    error = UnknownNameError("task", "x", [f"{number:03}" for number in range(45)])

    assert str(error).endswith("029 ... 15 more.")


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_names_of_a_kind_that_is_listed_the_command_is_named(kind: str) -> None:
    many, few = ([f"{number:03}" for number in range(count)] for count in (31, 30))
    singular = kind.removesuffix("s")

    assert str(UnknownNameError(singular, "x", many)).endswith(f"... 1 more (`chaosagent list {kind}` shows all).")
    assert "chaosagent list" not in str(UnknownNameError(singular, "x", few))


def test_a_missing_extra_is_one_sentence_with_the_command() -> None:
    with pytest.raises(MissingExtraError, match=r"needs nowhere_at_all, .* `pip install 'chaosagent\[search\]'`\."):
        require("nowhere_at_all.part", extra="search", needed_by="the searcher tpe")


def test_a_package_that_is_there_is_returned() -> None:
    assert require("json", extra="search", needed_by="a test") is importlib.import_module("json")


def test_a_package_that_is_there_but_misses_something_of_its_own_is_not_called_missing(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_installed.py").write_text("import something_else_entirely\n")  # type: ignore[operator]  # a Path
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ModuleNotFoundError, match="something_else_entirely"):
        require("half_installed", extra="search", needed_by="a test")
