"""The options that every `through_doors` takes."""

from __future__ import annotations

from typing import Any

import pytest

from chaosagent.adapters.core.options import tools_from
from chaosagent.adapters.doors import Tools
from chaosagent.errors import TargetError, UnknownNameError


def test_what_is_not_said_is_the_same_as_nothing() -> None:
    assert tools_from({}) == tools_from({"effects": None, "stale": None, "read_only": []}) == Tools()


def test_names_and_classes_are_kept_as_tuples() -> None:
    tools = tools_from({"read_only": iter(["get"]), "errors": [KeyError], "egress": ["send"]})

    assert (tools.read_only, tools.errors, tools.egress) == (("get",), (KeyError,), ("send",))


def test_an_unknown_option_and_a_text_for_a_list_are_refused() -> None:
    unknown: Any = {"effect": {}}
    with pytest.raises(UnknownNameError, match=r"through_doors: unknown option 'effect'\. Did you mean 'effects'"):
        tools_from(unknown)
    with pytest.raises(TargetError, match="read_only='get' is one text"):
        tools_from({"read_only": "get"})
