"""Secrets are replaced by placeholders: the same secret by the same one, in every text of plain data."""

import html
import json
import re
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import pack, unpack
from chaosagent.errors import SecretsError
from chaosagent.trace.readings import readings
from chaosagent.trace.redact import Redactor

KEY = "-----BEGIN KEY-----\nfirst\nsecond\n-----END KEY-----"
PASSWORD = "p%40ss&amp;\"w\\nö+rd'<1>/=="
PLACEHOLDER = r"\[secret [0-9a-f]{8}\]"


def test_secrets_are_replaced_in_texts_keys_and_lists() -> None:
    redactor = Redactor([r"sk-\d+", "hunter2"])

    found: Any = redactor.value({"sk-1": ["a sk-2 b", {"password": "hunter2"}], "n": 5, "b": b"\xffsk-3", "c": b"\xff"})

    assert isinstance(found, dict)
    (key, (text, inside)), *others = found.items()
    assert re.fullmatch(PLACEHOLDER, key)
    assert re.fullmatch(rf"a {PLACEHOLDER} b", text)
    assert re.fullmatch(PLACEHOLDER, inside["password"])
    assert others == [("n", 5), ("b", b"\xff" + redactor.text("sk-3").encode()), ("c", b"\xff")]


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


@pytest.mark.parametrize("secret", [KEY, PASSWORD])
@pytest.mark.parametrize(
    "write",
    [
        lambda secret: json.dumps({"key": secret}),
        lambda secret: json.dumps([json.dumps(secret), secret]),
        lambda secret: repr((secret, "other")),
        lambda secret: yaml.safe_dump({"key": secret}),
        lambda secret: "key: |\n  " + secret.replace("\n", "\n  "),
        lambda secret: "https://shop.example/?key=" + quote(secret, safe=""),
        lambda secret: urlencode({"a b": "c", "next": "/?" + urlencode({"key": secret})}),
        lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
        lambda secret: quote(json.dumps({"key": secret})),
        lambda secret: f"<p title='{html.escape(secret)}'>",
        lambda secret: html.escape(json.dumps({"key": secret})),
        lambda secret: "".join(f"&#{ord(character)};" for character in secret),
        lambda secret: "Basic " + b64encode(f"user:{secret}".encode()).decode(),
        lambda secret: quote(urlsafe_b64encode(secret.encode()), safe=""),
        lambda secret: urlsafe_b64encode(secret.encode()).decode().rstrip("="),
        lambda secret: encodebytes(json.dumps({"a": "b" * 90, "key": secret}).encode()).decode(),
        lambda secret: yaml.safe_dump({"key": encodebytes((secret * 3).encode()).decode()}),
    ],
)
def test_a_secret_is_found_as_other_formats_write_it(write: Callable[[str], str], secret: str) -> None:
    redactor = Redactor([re.escape(secret)])
    written = write(secret)

    found = redactor.text(written)

    assert "[secret " in found
    assert b64encode(secret.encode()).decode()[4:-8] not in found.replace("\n", "")
    assert not any(part in found for part in secret.split("\n") if len(part) > 3)
    assert redactor.text(found) == found
    assert redactor.text(f"a {written}, b") == f"a {found}, b"


@given(st.text(st.sampled_from('ab%4&;\\nu+ \n="é\ud800'), max_size=30), st.binary(max_size=30))
def test_every_reading_is_of_a_part_of_the_text(text: str, data: bytes) -> None:
    text += b64encode(data).decode() + text
    for reading in readings(text):
        spans = list(zip(*reading.places, strict=True))
        assert len(spans) == len(reading.text)
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert spans == sorted(spans)


def test_no_empty_match_is_a_secret() -> None:
    assert Redactor(["", "x*"]).text("axb") == Redactor(["x"]).text("axb")


def test_a_pattern_that_backtracks_without_end_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaosagent.trace.redact.SECONDS_MAX", 0.05)
    redactor = Redactor(["sk", "((a|b|ab)+)+$"])

    with pytest.raises(SecretsError, match=r"secrets: pattern 2 took more than 0.05 s of processor time .* 81 char"):
        redactor.text("ab" * 40 + "!")


def test_what_was_replaced_is_not_replaced_again_for_its_escapes() -> None:
    assert re.fullmatch(rf"{PLACEHOLDER}\\n\n  {PLACEHOLDER}", Redactor(["sk|key"]).text("sk\\n\n  key"))


def test_no_patterns_mean_no_secrets() -> None:
    assert Redactor([]).text("anything") == "anything"


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(SecretsError, match=r"secrets: pattern 2 is no regular expression: missing .*\. Correct it\."):
        Redactor(["a", "hunter2("])


@pytest.mark.parametrize("break_of_line", ["\\\n" + " " * 40, "\\\n\t", "\\\n"])
def test_a_secret_is_found_that_goes_on_behind_an_escaped_end_of_line(break_of_line: str) -> None:
    redacted = Redactor(["sk-[a-z]{8}"]).text(f"key: sk-abcd{break_of_line}efgh.")

    assert redacted == Redactor(["sk-[a-z]{8}"]).text("key: sk-abcdefgh.")
