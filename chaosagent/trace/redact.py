"""Secrets are replaced before they reach a step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from chaosagent.canonical import Plain, pack, unpack
from chaosagent.errors import UsageError

_PLACEHOLDER = re.compile(rb"\[secret [0-9a-f]{8}\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\n[ \t]*)|(.))|\n\s+")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
LEVELS_MAX = 3
"""How often a text is unescaped in search of secrets: JSON in JSON in JSON."""


def has_placeholder(data: bytes) -> bool:
    """Whether canonical bytes hold a placeholder of a secret."""
    return _PLACEHOLDER.search(data) is not None


class Redactor:
    """Replaces secrets by placeholders; the same secret always gets the same one.

    A secret is also found as JSON, `repr` and YAML write it: with escapes, or its lines indented.

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
        return self._without_escaped(value) if self._patterns and _ESCAPE.search(value) else value

    def _without_escaped(self, value: str) -> str:
        """Return a text without the secrets that stand in it with escapes."""
        plain, origins = value, list(range(len(value) + 1))
        secrets: list[tuple[int, int, str]] = []
        for _ in range(LEVELS_MAX):
            plain, origins = _unescaped(plain, origins)
            for match in (one for pattern in self._patterns for one in pattern.finditer(plain)):
                start, end = origins[match.start()], origins[match.end()]
                if value[start:end] != match.group():  # else it stands there as it is, and was replaced before
                    secrets.append((start, end, self._placeholder(match)))
            if not _ESCAPE.search(plain):
                break
        parts: list[str] = []
        position = 0
        for start, end, placeholder in sorted(secrets):
            if start >= position:
                parts += (value[position:start], placeholder)
            position = max(position, end)
        return "".join([*parts, value[position:]])

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


def _unescaped(text: str, origins: list[int]) -> tuple[str, list[int]]:
    """Return a text with its escapes resolved, and where each of its characters, and its end, comes from.

    Args:
        text: To be resolved.
        origins: The same of it.
    """
    parts: list[str] = []
    places: list[int] = []
    position = 0
    for match in _ESCAPE.finditer(text):
        four, two, folded, one = match.groups()
        code = four or two
        meant = chr(int(code, 16)) if code else "" if folded else _CONTROLS.get(one, one) if one else "\n"
        parts += (text[position : match.start()], meant)
        places += origins[position : match.start()] + [origins[match.start()]] * len(meant)
        position = match.end()
    return "".join([*parts, text[position:]]), places + origins[position:]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"secrets: {pattern!r} is no regular expression: {error}. Correct it.") from error
