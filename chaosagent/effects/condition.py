"""Conditions on a request and its answer, as `failed_when` and `effect(..., when=...)` take them.

| form | matches an answer |
| --- | --- |
| `"^Error"`, `{text: "^Error"}` | whose text the regular expression matches somewhere |
| `{json: result.status, is: [error, failed]}` | with one of these values at a path; without `is`: with anything |
| `{exit_code: nonzero}`, `{exit_code: [1, 2]}` | that reports such an exit code of a command |
| `checks.py:is_error`, `{function: checks:is_error}`, a function | for which it is true, given arguments and answer |
| a list of these | that one of them matches; an empty list matches nothing |

The text of an answer in parts, as protocols for tools have it, is that of its parts, that of an HTTP response its body;
of any other data it is the JSON. Patterns come from files of strangers, so they are matched in linear time, see
`chaosagent.effects.linear_pattern`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeGuard, cast

from chaosagent.canonical import Plain, plain
from chaosagent.effects.linear_pattern import LinearPattern, linear_pattern
from chaosagent.errors import UsageError

Test: TypeAlias = Callable[[Mapping[str, Plain], Plain], bool]
Loader: TypeAlias = Callable[[str, str], object]
"""Returns what a reference such as `checks.py:is_error` names; the second text is the place that names it."""
ConditionForm: TypeAlias = "str | Mapping[str, Plain] | Test | Sequence[ConditionForm]"
"""What users write for a condition."""

TEXT_MAX = 1_000_000
"""Characters of a text that a pattern is matched with."""
KEYS = ("exit_code", "function", "is", "json", "text")
NONZERO = "nonzero"
FORMS = "a pattern, {json: PATH, is: VALUE}, {exit_code: nonzero}, {function: FILE.py:NAME}, or a list of these"
_CODE_NAMES = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code", "returnCode")
_REFERENCE = re.compile(r"(?P<file>[^\s:]+\.py)?(?(file)|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_][\w.]*")
_HTTP = {"status", "headers", "body"}
_PART_TYPES = ("text", "input_text", "output_text")
_MISSING = object()


class Condition(Protocol):
    """A condition on a request and its answer; equal ones are equal."""

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:
        """Return in a few words why the answer matches, empty when it does not.

        Args:
            arguments: Of the request.
            answer: Plain data.

        Raises:
            Exception: Whatever a function of the user's raises.
        """
        ...


@dataclass(frozen=True, slots=True)
class TextCondition:
    """Matches answers in whose text a regular expression matches somewhere.

    Attributes:
        pattern: The regular expression.
    """

    pattern: LinearPattern

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:  # noqa: ARG002  # the protocol's
        """See `Condition`."""
        text = text_of(answer)[:TEXT_MAX]
        return f"it matches {self.pattern.pattern!r}" if self.pattern.matches(text) else ""


@dataclass(frozen=True, slots=True)
class JsonCondition:
    """Matches answers with a value at a path.

    Attributes:
        path: Keys of mappings, and indexes of lists from 0.
        values: One of these; when empty, anything but nothing, false, 0 and what is empty.
    """

    path: tuple[str | int, ...]
    values: tuple[Plain, ...] = ()

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:  # noqa: ARG002  # the protocol's
        """See `Condition`."""
        data = data_of(answer)
        found = _at(data, self.path)
        if found is _MISSING and _is_http(data):
            found = _at(data_of(data["body"]), self.path)
        is_meant = found is not _MISSING and self._is_meant(found)
        return f"{_shown(self.path)} is {found!r:.80}" if is_meant else ""

    def _is_meant(self, found: object) -> bool:
        if not self.values:
            return bool(found)
        return any(isinstance(found, bool) is isinstance(value, bool) and found == value for value in self.values)


@dataclass(frozen=True, slots=True)
class ExitCodeCondition:
    """Matches answers that report the exit code of a command, under `exit_code`, `returncode` or the like.

    Attributes:
        codes: One of these; any but 0 when empty.
    """

    codes: tuple[int, ...] = ()

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:  # noqa: ARG002  # the protocol's
        """See `Condition`."""
        code = exit_code_of(answer)
        matches = code is not None and (code in self.codes if self.codes else code != 0)
        return f"exit code {code}" if matches else ""


@dataclass(frozen=True, slots=True)
class FunctionCondition:
    """Matches answers for which a function is true.

    Attributes:
        function: Of arguments and answer; it changes neither, and says the same of the same.
    """

    function: Test

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:
        """See `Condition`.

        Raises:
            TypeError: The function returned neither `True` nor `False`.
        """
        found: object = self.function(arguments, answer)
        name = getattr(self.function, "__name__", type(self.function).__name__)
        if not isinstance(found, bool):
            raise TypeError(f"{name} returned {found!r:.80}; return True where the answer matches, else False")
        return f"{name} says so" if found else ""


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """Matches answers that one of some conditions matches.

    Attributes:
        conditions: In the order in which they are tried.
    """

    conditions: tuple[Condition, ...]

    def why(self, arguments: Mapping[str, Plain], answer: Plain) -> str:
        """See `Condition`."""
        return next((why for one in self.conditions if (why := one.why(arguments, answer))), "")


def condition_from(given: object, where: str, load: Loader | None = None) -> Condition:
    """Return the condition that a user wrote.

    Args:
        given: In one of the forms above.
        where: What messages call its place.
        load: Loads functions that are named; `None` where functions are handed over as they are.

    Raises:
        UsageError: It is none.
    """
    if isinstance(given, str):
        if load is not None and is_file_reference(given):
            return FunctionCondition(cast(Test, function_from(given, where, load)))
        return _text_condition(given, where)
    if isinstance(given, Mapping):
        return _from_mapping(given, where, load)
    if isinstance(given, list | tuple):  # an empty one matches nothing
        return AnyCondition(tuple(condition_from(one, where, load) for one in given))
    if callable(given):
        return FunctionCondition(given)
    raise UsageError(f"{where}: {given!r:.80} is no condition. Write {FORMS}.")


def _from_mapping(given: Mapping[str, object], where: str, load: Loader | None) -> Condition:
    keys = sorted(map(str, given))
    if keys == ["text"] and isinstance(given["text"], str):
        return _text_condition(given["text"], where)
    if keys in (["json"], ["is", "json"]):
        values = given.get("is", [])
        wanted = values if isinstance(values, list | tuple) else [values]
        return JsonCondition(_path(given["json"], where), tuple(map(plain, wanted)))
    if keys == ["exit_code"]:
        codes = given["exit_code"]
        listed: Sequence[object] = codes if isinstance(codes, list | tuple) else [codes]
        if codes == NONZERO:
            return ExitCodeCondition()
        whole = [code for code in listed if isinstance(code, int) and not isinstance(code, bool)]
        if listed and len(whole) == len(listed):
            return ExitCodeCondition(tuple(whole))
        raise UsageError(
            f"{where}: exit_code is {codes!r:.80}; it must be {NONZERO!r}, a whole number or a list of them."
        )
    if keys == ["function"]:
        return FunctionCondition(cast(Test, function_from(given["function"], where, load)))
    raise UsageError(f"{where}: {dict(given)!r:.80} is no condition. Write {FORMS}.")


def is_reference(text: str) -> bool:
    """Whether a text looks like the name of a function in a file or module: `eff.py:book`, `shop.eff:book`."""
    return _REFERENCE.fullmatch(text) is not None


def is_file_reference(text: str) -> bool:
    """Whether a text looks like the name of a function in a file, which no pattern for errors does."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and bool(match["file"])


def function_from(given: object, where: str, load: Loader | None) -> Callable[..., object]:
    """Return a function that is given or named.

    Raises:
        UsageError: It is neither a function nor the name of one.
    """
    found = load(given, where) if isinstance(given, str) and load is not None else given
    if not callable(found):
        named = f"{given} is {type(found).__name__}" if isinstance(given, str) and load else f"{given!r:.80} is"
        raise UsageError(f"{where}: {named}, not a function. Name one, such as 'checks.py:is_error', or hand one over.")
    return found


def text_of(answer: Plain) -> str:
    """Return the text of an answer, as patterns look at it."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, bytes):
        return answer.decode("utf-8", "replace")
    if _is_http(answer):
        return text_of(answer["body"])
    texts = _texts(answer)
    return json.dumps(answer, ensure_ascii=False, default=repr) if texts is None else "\n".join(texts)


def data_of(answer: Plain) -> Plain:
    """Return the data of an answer, as paths look at it: of a text in JSON what that says."""
    if isinstance(answer, str) or _texts(answer) is not None:
        text = text_of(answer).strip()
        if text.startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                found: Plain = json.loads(text)
                return found
    return answer


def exit_code_of(answer: Plain) -> int | None:
    """Return the exit code of a command that an answer reports, `None` when it reports none."""
    data = data_of(answer)
    if _is_http(data):
        data = data_of(data["body"])
    if not isinstance(data, Mapping):
        return None
    codes = (data.get(name) for name in _CODE_NAMES)
    return next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), None)


def _texts(answer: Plain) -> list[str] | None:
    """Return the texts of an answer in parts, `None` when it is none."""
    if isinstance(answer, Mapping):
        content = answer.get("content")
        if isinstance(content, str) and ("type" in answer or "role" in answer):  # a message
            return [content]
        return _texts(content) if isinstance(content, list) else None
    if not isinstance(answer, list) or not answer:
        return None
    if not all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in answer):
        return None
    parts: Iterable[Mapping[str, Plain]] = answer  # type: ignore[assignment]  # looked at above
    texts = [part["text"] for part in parts if part["type"] in _PART_TYPES and isinstance(part.get("text"), str)]
    return [str(text) for text in texts] or None


def _is_http(answer: Plain) -> TypeGuard[Mapping[str, Plain]]:
    return isinstance(answer, Mapping) and set(answer) == _HTTP


def _text_condition(pattern: str, where: str) -> TextCondition:
    return TextCondition(linear_pattern(pattern, where, "Correct it, or give a function of arguments and answer."))


def _path(given: object, where: str) -> tuple[str | int, ...]:
    if isinstance(given, list | tuple) and all(isinstance(part, str | int) for part in given):
        return tuple(given)
    if not isinstance(given, str):
        raise UsageError(f"{where}: json is {given!r:.80}; write a path, such as 'result.items[0].status', or a list.")
    parts: list[str | int] = []
    for key in given.removeprefix("$").removeprefix(".").split("."):
        match = re.fullmatch(r"([^\[\]]*)((?:\[\d{1,9}\])*)", key)
        if match is None or (not key and given not in ("", "$")):
            raise UsageError(f"{where}: json is {given!r:.80}, which is no path. Write 'result.items[0].status'.")
        parts += [match[1]] if match[1] else []
        parts += [int(index) for index in re.findall(r"\d+", match[2])]
    return tuple(parts)


def _at(data: object, path: Sequence[str | int]) -> object:
    for part in path:
        if isinstance(data, Mapping):
            data = data.get(part, _MISSING)
        elif isinstance(data, list | tuple) and isinstance(part, int):
            data = data[part] if 0 <= part < len(data) else _MISSING
        else:
            return _MISSING
    return data


def _shown(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path)) or "the answer"
