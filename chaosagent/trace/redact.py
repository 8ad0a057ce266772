"""Secrets are replaced before they reach a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from chaosagent.canonical import Plain, pack, unpack
from chaosagent.errors import SecretsError
from chaosagent.trace.readings import readings

if TYPE_CHECKING:
    import regex

SECONDS_MAX = 5.0
"""Processor time that a pattern may take in one text: it may backtrack, and the text may come from a stranger."""
_PLACEHOLDER = re.compile(rb"\[secret [0-9a-f]{8}\]")


def has_placeholder(data: bytes) -> bool:
    """Whether canonical bytes hold a placeholder of a secret."""
    return _PLACEHOLDER.search(data) is not None


class Redactor:
    """Replaces secrets by placeholders; the same secret always gets the same one.

    A secret is also found as JSON, `repr`, YAML, URLs, HTML and base64 write it; `docs/secrets.md` says what is not.

    Args:
        patterns: Regular expressions; every match in a text is a secret, unless it is empty.
        key: Keys the placeholders, so that they cannot be guessed from a list of candidates.

    Raises:
        SecretsError: A pattern is no regular expression; or, from any method, it takes longer than `SECONDS_MAX`.
    """

    def __init__(self, patterns: Iterable[str], key: bytes = b"chaosagent") -> None:
        self._patterns = [_compiled(pattern, number) for number, pattern in enumerate(patterns, 1)]
        self._key = key[:64]

    def text(self, value: str) -> str:
        """Return a text without its secrets."""
        secrets = [(*match.span(), self._placeholder(match)) for match in self._matches(value)]
        if self._patterns:
            for reading in readings(value):
                if matches := list(self._matches(reading.text)):
                    starts, ends = reading.places
                    secrets += ((starts[one.start()], ends[one.end() - 1], self._placeholder(one)) for one in matches)
        parts: list[str] = []
        position = 0
        for start, end, placeholder in sorted(secrets, key=lambda secret: secret[0]):
            if start >= position:
                parts += (value[position:start], placeholder)
            position = max(position, end)
        return "".join([*parts, value[position:]])

    def value(self, value: Plain) -> Plain:
        """Return plain data without the secrets in its texts and bytes."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value

    def packed(self, data: bytes) -> bytes:
        """Return canonical bytes without the secrets in them."""
        return pack(self.value(unpack(data))) if data else data

    def _matches(self, text: str) -> Iterator[regex.Match[str]]:
        for number, pattern in enumerate(self._patterns, 1):
            try:
                yield from (match for match in pattern.finditer(text, timeout=SECONDS_MAX) if match[0])
            except TimeoutError as error:
                raise SecretsError(
                    f"secrets: pattern {number} took more than {SECONDS_MAX:g} s of processor time in a text of "
                    f"{len(text):,} characters, as it can match the same characters in many ways. Repeat nothing that "
                    "repeats itself: a+ instead of (a+)+; and limit what may be long: {1,100} instead of +."
                ) from error

    def _placeholder(self, match: regex.Match[str]) -> str:
        secret = match[0].encode("utf-8", "surrogatepass")
        return f"[secret {blake2b(secret, digest_size=4, key=self._key).hexdigest()}]"


_redactors: dict[tuple[str, ...], Redactor] = {}
"""Of the targets of this process; what one of them prints may be shown after its run."""


def redactor_of(patterns: tuple[str, ...]) -> Redactor | None:
    """Return what removes the secrets of a target, `None` if it has none; from now on `without_secrets` does, too.

    Args:
        patterns: Regular expressions of them.

    Raises:
        SecretsError: A pattern is no regular expression.
    """
    if patterns and patterns not in _redactors:
        _redactors[patterns] = Redactor(patterns)
    return _redactors.get(patterns)


def are_secrets_known() -> bool:
    """Whether a target of this process declares secrets."""
    return bool(_redactors)


def without_secrets(text: str) -> str:
    """Return a text without the secrets of all targets that were loaded or have run in this process."""
    for redactor in _redactors.values():
        text = redactor.text(text)
    return text


def _compiled(pattern: str, number: int) -> regex.Pattern[str]:
    """Compile a pattern; messages give its number, as it may be a secret itself."""
    import regex  # its searches end after a time, those of `re` do not; few targets have secrets

    try:
        re.compile(pattern)  # what only the other knows, such as \p{L}, is refused
        return regex.compile(pattern)
    except (re.error, regex.error, TypeError, RecursionError, OverflowError) as error:
        raise SecretsError(f"secrets: pattern {number} is no regular expression: {error}. Correct it.") from error
