"""YAML whose values know the line they stand on.

It is read as YAML 1.2 where YAML 1.1 surprises: `1:59:59` is a text, not the number 7199. Two escapes that make one
character, as JSON writes it, are that character.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TypeAlias

import yaml

from chaosagent.canonical import Plain
from chaosagent.errors import UsageError

Keys: TypeAlias = "tuple[str | int, ...]"
BYTES_MAX = 1_000_000
DEPTH_MAX = 32
VALUES_MAX = 20_000
YAML_TAG = "tag:yaml.org,2002:"
TAGS = frozenset({"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "binary"})
SHOWN_MAX = 80
DIGITS_MAX = 300
"""Characters of a number; more fit in no `float`."""


@dataclass(frozen=True, slots=True)
class Located:
    """The mapping that a YAML file holds, and where its values stand.

    Attributes:
        file: As messages call it.
        text: Of the whole file.
        data: The mapping.
    """

    file: str
    text: str
    data: dict[str, Plain]
    _lines: Mapping[Keys, int] = field(repr=False)
    _given: Mapping[Keys, str] = field(default_factory=dict)

    def where(self, *keys: str | int) -> str:
        """Return file and line of a value, or of the closest one around it; the option that gave it, if one did."""
        given = self._given_by(keys)
        if given:
            return given
        line = self.line(*keys)
        return f"{self.file}:{line}" if line else self.file

    def line(self, *keys: str | int) -> int:
        """Return the line of a value, or of the closest one around it, from 1; 0 for what an option gave."""
        if self._given_by(keys):
            return 0
        around = (keys[:end] for end in range(len(keys), -1, -1))
        return next((self._lines[part] for part in around if part in self._lines), 0)

    def _given_by(self, keys: Keys) -> str:
        """Return the option that gave a value, or the list it stands in; empty when the file did."""
        return next((self._given[keys[:end]] for end in range(len(keys), -1, -1) if keys[:end] in self._given), "")

    def with_value(self, keys: tuple[str, ...], value: Plain, given_by: str) -> Located:
        """Return it with another value, given by an option of the command line."""
        data = _with(self.data, keys, value)
        return Located(self.file, self.text, data, self._lines, {**self._given, keys: given_by})

    def without(self, *keys: str) -> Located:
        """Return it without a value, if it has it."""
        return Located(self.file, self.text, _without(self.data, keys), self._lines, self._given)

    @property
    def text_as_run(self) -> str:
        """The text of the file, or, where options changed it, of an equal one that has their values."""
        if not self._given:
            return self.text
        options = ", ".join(sorted(set(self._given.values())))
        body = yaml.safe_dump(self.data, sort_keys=False, allow_unicode=True, width=120)
        return f"# {self.file} with {options} from the command line.\n{body}"


def _with(data: dict[str, Plain], keys: tuple[str, ...], value: Plain) -> dict[str, Plain]:
    first, rest = keys[0], keys[1:]
    if not rest:
        return {**data, first: value}
    inner = data.get(first)
    return {**data, first: _with(inner if isinstance(inner, dict) else {}, rest, value)}


def _without(data: dict[str, Plain], keys: tuple[str, ...]) -> dict[str, Plain]:
    first, rest = keys[0], keys[1:]
    inner = data.get(first)
    if not rest:
        return {key: value for key, value in data.items() if key != first}
    return {**data, first: _without(inner, rest)} if isinstance(inner, dict) else data


def read_yaml(path: Path, kind: str) -> Located:
    """Read a YAML file that holds one mapping.

    Args:
        path: Of the file.
        kind: What it should be, as messages name it: `"study file"`.

    Raises:
        UsageError: The file cannot be read, is too large, is no YAML, or holds something else than one mapping of
            plain values, each key once.
    """
    if path.suffix.partition(":")[0] == ".py":  # a program, or a target in one as study files name it
        raise UsageError(f"{path} is Python; name a {kind}, and in it the target: `target: {_target_in(path)}`.")
    text, data, lines = _read(path, kind)
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds {_kind_of(data)}; a {kind} is a mapping: lines of `key: value`.")
    return Located(str(path), text, data, lines)


def read_yaml_values(path: Path, kind: str) -> Plain:
    """Read a YAML file that may hold anything but nothing.

    Args:
        path: Of the file.
        kind: What it should be, as messages name it.

    Raises:
        UsageError: As `read_yaml`, but for the mapping.
    """
    return _read(path, kind)[1]


def _read(path: Path, kind: str) -> tuple[str, Plain, Mapping[Keys, int]]:
    """Return the text of a file, what it says, and on which lines."""
    text = _text_of(path, kind)
    try:
        loader = _BoundedLoader(text)
        loader.file = str(path)
        node = loader.get_single_node()
        if node is None:
            raise UsageError(f"{path} is empty; name a {kind}.")
        builder = _Builder(loader, str(path))
        return text, builder.build(node, ()), builder.lines
    except yaml.YAMLError as error:
        raise UsageError(_complaint(path, error)) from error
    except RecursionError:
        raise UsageError(f"{path} is no {kind}: its values are nested too deeply.") from None


def _target_in(path: Path) -> str:
    return path.name if ":" in path.name else f"{path.name}:NAME"


def _text_of(path: Path, kind: str) -> str:
    try:
        if path.is_dir():
            inside = sorted(child.name for child in path.iterdir() if child.suffix in (".yaml", ".yml"))
            hint = f"It holds {', '.join(inside[:5])}." if inside else "It holds no YAML file."
            raise UsageError(f"{path} is a folder; name a {kind}. {hint}")
        with path.open("rb") as file:  # a pipe or a device does not say its size, so it is read up to the limit
            data = file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise UsageError(f"{path} is too large; a {kind} has at most {BYTES_MAX} bytes.")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist. Name a {kind}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text in UTF-8; a {kind} is YAML.") from None


class _BoundedLoader(yaml.SafeLoader):
    """Counts what it reads, so that a file with too much in it is refused at once and not when all of it is read."""

    file = ""
    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.nodes += 1
        if self.nodes > 2 * VALUES_MAX:  # keys are nodes, too
            raise _too_much(self.file, self.line + 1)
        return super().compose_node(parent, index)


def _too_much(file: str, line: int) -> UsageError:
    return UsageError(f"{file}:{line}: more than {DEPTH_MAX} levels or {VALUES_MAX} values. Do without aliases (*).")


class _Builder:
    """Makes plain values of YAML nodes and notes their lines."""

    def __init__(self, loader: yaml.SafeLoader, file: str) -> None:
        self._loader, self._file = loader, file
        self._values = 0
        self.lines: dict[Keys, int] = {}

    def build(self, node: yaml.Node, keys: Keys) -> Plain:
        line = node.start_mark.line + 1
        self._values += 1
        self.lines.setdefault(keys, line)
        if len(keys) > DEPTH_MAX or self._values > VALUES_MAX:
            raise _too_much(self._file, line)
        if node.tag.removeprefix(YAML_TAG) not in TAGS:
            raise UsageError(f"{self._file}:{line}: no YAML that is allowed here: the tag {node.tag!r}. Leave it out.")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*keys, index)) for index, child in enumerate(node.value)]
        value = self._constructed(node)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise UsageError(
            f"{self._file}:{line}: {quote_value(node.value)} is read as {_READ_AS.get(type(value), 'something else')}. "
            "Put it in quotes."
        )

    def _constructed(self, node: yaml.Node) -> object:
        line = node.start_mark.line + 1
        if node.tag in _NUMBERS:
            if len(node.value) > DIGITS_MAX:
                raise UsageError(
                    f"{self._file}:{line}: {quote_value(node.value)}: a number has at most {DIGITS_MAX} digits. Write "
                    "a smaller one."
                )
            if ":" in node.value:  # YAML 1.1 counts it in sixties
                return node.value
        try:
            value = self._loader.construct_object(node)
            return _whole_text(value) if isinstance(value, str) else value
        except UnicodeError:
            raise UsageError(
                f"{self._file}:{line}: {quote_value(node.value)} has a lone surrogate, which no file can hold. Write "
                "the character that is meant."
            ) from None
        except ValueError as error:  # such as a date that does not exist
            raise UsageError(f"{self._file}:{line}: {quote_value(node.value)}: {error}. Put it in quotes.") from error
        except (LookupError, AttributeError) as error:  # PyYAML's, of `!!bool maybe`, `!!int ""` and `!!timestamp x`
            tag = node.tag.removeprefix(YAML_TAG)
            raise UsageError(
                f"{self._file}:{line}: {quote_value(node.value)} is no {tag}. Leave out the tag."
            ) from error

    def _mapping(self, node: yaml.MappingNode, keys: Keys) -> Plain:
        built: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == f"{YAML_TAG}merge":
                raise UsageError(f"{self._file}:{line}: merging with << is not read here. Write the keys themselves.")
            if not isinstance(key_node, yaml.ScalarNode):
                raise UsageError(f"{self._file}:{line}: a key is a list or a mapping, no text. Put it in quotes.")
            key = self._constructed(key_node)
            if not isinstance(key, str):
                raise UsageError(f"{self._file}:{line}: the key {quote_value(key)} is no text. Put it in quotes.")
            if key in built:
                before = self.lines[(*keys, key)]
                raise UsageError(
                    f"{self._file}:{line}: the key {quote_value(key)} stands twice, first on line {before}. Remove one."
                )
            self.lines[(*keys, key)] = line
            built[key] = self.build(value_node, (*keys, key))
        return built


def _whole_text(text: str) -> str:
    """Return a text in which two surrogates that belong together are the character that they stand for.

    Raises:
        UnicodeError: One of them is alone.
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")


def _complaint(path: Path, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        problem = error.problem or "something unexpected"
        context = f" {error.context}," if error.context else ""
        remedy = "Indent with spaces, not with tabs" if "'\\t'" in problem else "Correct the line"
        return f"{path}:{mark.line + 1}: no YAML:{context} {problem} (column {mark.column + 1}). {remedy}."
    return f"{path} is no YAML: {str(error).splitlines()[0]}."


def _kind_of(value: Plain) -> str:
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "nothing"
    return "a text" if isinstance(value, str) else quote_value(value)


def quote_value(value: object) -> str:
    """Return a value as messages quote it: as YAML writes it where the two differ, and cut where it is long."""
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    written = _WORDS.get(value) if value is None or isinstance(value, bool) else None
    text = _repr_of(value) if written is None else written
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}... {len(text) - SHOWN_MAX} more characters"


def _repr_of(value: object) -> str:
    try:
        if not _is_huge(value):
            return repr(value)
    except Exception:  # anybody's `__repr__`; Python's own fails on deep nesting and on numbers of thousands of digits
        pass
    return f"a {type(value).__name__} that is too large to show"


def _is_huge(value: object) -> bool:
    """Whether a list or mapping has very many values in it; one that stands in it twice counts twice."""
    left, count = [value], 0
    while left and count <= VALUES_MAX:
        inside = left.pop()
        count += 1
        if isinstance(inside, dict):
            left.extend(inside.values())
        elif isinstance(inside, list | tuple):
            left.extend(inside)
    return bool(left)


_NUMBERS = (f"{YAML_TAG}int", f"{YAML_TAG}float")
_WORDS: Mapping[object, str] = {None: "empty", True: "true", False: "false"}
_READ_AS: Mapping[type, str] = {date: "a date", datetime: "a date and time", bytes: "binary data"}
