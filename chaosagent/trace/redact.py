"""Secrets are replaced before they reach a step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from chaosagent.canonical import Plain, pack, unpack
from chaosagent.errors import UsageError

_PLACEHOLDER = re.compile(rb"\[secret [0-9a-f]{8}\]")


def has_placeholder(data: bytes) -> bool:
    """Whether canonical bytes hold a placeholder of a secret."""
    return _PLACEHOLDER.search(data) is not None


class Redactor:
    """Replaces secrets by placeholders; the same secret always gets the same one.

    Args:
        patterns: Regular expressions; every match in a text is a secret.
        key: Keys the placeholders, so that they cannot be guessed from a list of candidates.

    Raises:
        UsageError: A pattern is no regular expression.
    """

    def __init__(self, patterns: Iterable[str], key: bytes = b"chaosagent") -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]
        self._key = key[:64]

    def text(self, value: str) -> str:
        """Return a text without its secrets."""
        for pattern in self._patterns:
            value = pattern.sub(self._placeholder, value)
        return value

    def value(self, value: Plain) -> Plain:
        """Return plain data without the secrets in its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value

    def packed(self, data: bytes) -> bytes:
        """Return canonical bytes without the secrets in them."""
        return pack(self.value(unpack(data))) if data else data

    def _placeholder(self, match: re.Match[str]) -> str:
        secret = match.group().encode("utf-8", "surrogatepass")
        return f"[secret {blake2b(secret, digest_size=4, key=self._key).hexdigest()}]"


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"secrets: {pattern!r} is no regular expression: {error}. Correct it.") from error
