"""Regular expressions out of files of strangers, matched in time that grows with the text and never explodes.

The engine is Rust's crate `regex`, which pydantic brings along: it has neither look-around nor backreferences. Its
time also grows with the size of a pattern with all repetitions written out, so that is limited, too.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaosagent.errors import UsageError

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

PATTERN_MAX = 1_000
"""Characters of a pattern."""
SIZE_MAX = 1_000
"""Characters of a pattern with its repetitions written out: `(ab){3}` has six."""
_COUNT_MAX = 10**6
_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\{(\d{1,9})?,?(\d{1,9})?\}|[()|]|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LinearPattern:
    """A regular expression that was checked; make one with `linear_pattern`.

    Attributes:
        pattern: In the syntax of Rust's crate `regex`.
    """

    pattern: str

    def matches(self, text: str) -> bool:
        """Whether it matches somewhere in a text; a lone surrogate counts as a question mark.

        As in Python, `$` also matches before a line break at the very end.
        """
        engine, text = _engine(self.pattern), text.encode("utf-8", "replace").decode()
        if engine.isinstance_python(text):
            return True
        return "$" in self.pattern and text.endswith("\n") and engine.isinstance_python(text[:-1])


def linear_pattern(pattern: str, where: str, remedy: str) -> LinearPattern:
    """Return a pattern that a user wrote.

    Args:
        pattern: The regular expression.
        where: What messages call its place.
        remedy: What else the user can write, a sentence.

    Raises:
        UsageError: It is empty, too long or too large, or no regular expression that can be matched in linear time.
    """
    if not pattern or len(pattern) > PATTERN_MAX:
        raise UsageError(
            f"{where}: the pattern {pattern!r:.80} has {len(pattern)} characters; give 1 to {PATTERN_MAX}."
        )
    size = _size(pattern)
    if size > SIZE_MAX:
        raise UsageError(
            f"{where}: the pattern {pattern!r:.80} has {size:,} characters with its repetitions written out; at most "
            f"{SIZE_MAX:,} are allowed. Repeat less, or write + or *."
        )
    try:
        pattern.encode()  # the engine would replace lone surrogates
        _engine(pattern)
    except Exception as error:  # the engine's own class is no public one
        why = str(error).strip().rpartition("\n")[2].removeprefix("error: ")
        raise UsageError(
            f"{where}: the pattern {pattern!r:.80} cannot be used: {why}. Patterns are matched in linear time, without "
            f"look-around and backreferences. {remedy}"
        ) from error
    return LinearPattern(pattern)


def _size(pattern: str) -> int:
    """Return how many characters a pattern has when its counted repetitions are written out, at least roughly."""
    open_groups: list[int] = []
    total = last = 0  # of the group that is open; of what a repetition behind it repeats
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            open_groups.append(total)
            total = last = 0
        elif text == ")" and open_groups:
            last = max(1, total)
            total = open_groups.pop() + last
        elif text.startswith("{") and len(text) > 1 and (token[1] or token[2]):
            times = max(int(token[1] or 0), int(token[2] or 0), 1)
            total += last * (times - 1)
            last *= times
        elif text not in "*+?":
            last = 1
            total += 1
        if total > _COUNT_MAX:
            break
    return total + sum(open_groups)


@functools.lru_cache(maxsize=1024)
def _engine(pattern: str) -> SchemaValidator:
    from pydantic_core import SchemaValidator, core_schema  # 20 ms, and few runs need it

    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
