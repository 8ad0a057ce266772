"""Secrets are replaced by placeholders: the same secret by the same one, in every text of plain data."""

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import pack, unpack
from chaosagent.errors import UsageError
from chaosagent.trace.redact import Redactor

KEY = "-----BEGIN KEY-----\nfirst\nsecond\n-----END KEY-----"
PLACEHOLDER = r"\[secret [0-9a-f]{8}\]"


def test_secrets_are_replaced_in_texts_keys_and_lists() -> None:
    redactor = Redactor([r"sk-\d+", "hunter2"])

    found: Any = redactor.value({"sk-1": ["a sk-2 b", {"password": "hunter2"}], "n": 5, "b": b"sk-3"})

    assert isinstance(found, dict)
    (key, (text, inside)), *others = found.items()
    assert re.fullmatch(PLACEHOLDER, key)
    assert re.fullmatch(rf"a {PLACEHOLDER} b", text)
    assert re.fullmatch(PLACEHOLDER, inside["password"])
    assert others == [("n", 5), ("b", b"sk-3")]


def test_the_same_secret_has_the_same_placeholder_and_another_one_another() -> None:
    redactor = Redactor([r"sk-\d+"])

    assert redactor.text("sk-1 sk-1").split("] ")[0] + "]" == redactor.text("sk-1")
    assert redactor.text("sk-1") != redactor.text("sk-2")


def test_placeholders_depend_on_the_key_so_that_nobody_can_try_candidates() -> None:
    assert Redactor(["s"], b"one").text("s") != Redactor(["s"], b"other").text("s")


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert Redactor([r"\bsecret-\d{9}\b"]).text(text) == text


def test_canonical_bytes_are_redacted_and_stay_canonical() -> None:
    redactor = Redactor([r"sk-\d+"])

    found = redactor.packed(pack({"b": "sk-1", "a": 2**70}))

    assert pack(unpack(found)) == found
    assert unpack(found) == {"a": 2**70, "b": redactor.text("sk-1")}
    assert redactor.packed(b"") == b""


def test_patterns_may_have_flags_groups_and_back_references_of_their_own() -> None:
    redactor = Redactor([r"(?i)SK-\d+", r"(a)\1", "(b)c"])

    assert re.fullmatch(rf"{PLACEHOLDER} {PLACEHOLDER} {PLACEHOLDER}", redactor.text("sk-1 aa bc"))


@pytest.mark.parametrize(
    "written",
    [
        json.dumps({"key": KEY}),
        json.dumps([json.dumps(KEY), KEY]),
        repr((KEY, "other")),
        yaml.safe_dump({"key": KEY}),
        "key: |\n  " + KEY.replace("\n", "\n  "),
    ],
)
def test_a_secret_of_several_lines_is_found_as_json_repr_and_yaml_write_it(written: str) -> None:
    redactor = Redactor([re.escape(KEY)])

    found = redactor.text(written)

    assert "second" not in found
    assert redactor.text(KEY) in found
    assert redactor.text(found) == found


def test_what_was_replaced_is_not_replaced_again_for_its_escapes() -> None:
    assert re.fullmatch(rf"{PLACEHOLDER}\\n\n  {PLACEHOLDER}", Redactor(["sk|key"]).text("sk\\n\n  key"))


def test_no_patterns_mean_no_secrets() -> None:
    assert Redactor([]).text("anything") == "anything"


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(UsageError, match=r"secrets: '\(' is no regular expression: .*\. Correct it\."):
        Redactor(["("])
