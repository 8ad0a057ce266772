"""YAML whose values know the line they stand on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
TAGS = frozenset({"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "binary", "value"})


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
        for end in range(len(keys), -1, -1):
            if keys[:end] in self._given:
                return self._given[keys[:end]]
            if keys[:end] in self._lines:
                return f"{self.file}:{self._lines[keys[:end]]}"
        return self.file

    def line(self, *keys: str | int) -> int:
        """Return the line of a value, or of the closest one around it, from 1; 0 for what an option gave."""
        for end in range(len(keys), -1, -1):
            if keys[:end] in self._given:
                return 0
            if keys[:end] in self._lines:
                return self._lines[keys[:end]]
        return 0

    def with_value(self, keys: tuple[str, ...], value: Plain, given_by: str) -> Located:
        """Return it with another value, given by an option of the command line."""
        data = _with(self.data, keys, value)
        return Located(self.file, self.text, data, self._lines, {**self._given, keys: given_by})

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


def read_yaml(path: Path, kind: str) -> Located:
    """Read a YAML file that holds one mapping.

    Args:
        path: Of the file.
        kind: What it should be, as messages name it: `"study file"`.

    Raises:
        UsageError: The file cannot be read, is too large, is no YAML, or holds something else than one mapping of
            plain values, each key once.
    """
    text = _text_of(path, kind)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise UsageError(f"{path} is empty. A {kind} needs at least the key 'target'.")
        builder = _Builder(loader, str(path))
        data = builder.build(node, ())
    except yaml.YAMLError as error:
        raise UsageError(_complaint(path, error)) from error
    except RecursionError:
        raise UsageError(f"{path} is no {kind}: its values are nested too deeply.") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds {_kind_of(data)}; a {kind} is a mapping: lines of `key: value`.")
    return Located(str(path), text, data, builder.lines)


def _text_of(path: Path, kind: str) -> str:
    try:
        if path.is_dir():
            inside = sorted(child.name for child in path.iterdir() if child.suffix in (".yaml", ".yml"))
            hint = f"It holds {', '.join(inside[:5])}." if inside else "It holds no YAML file."
            raise UsageError(f"{path} is a folder; name a {kind}. {hint}")
        size = path.stat().st_size
        if size > BYTES_MAX:
            raise UsageError(f"{path} has {size} bytes; a {kind} has at most {BYTES_MAX}.")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist. Name a {kind}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text in UTF-8; a {kind} is YAML.") from None


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
            raise UsageError(
                f"{self._file}:{line}: more than {DEPTH_MAX} levels or {VALUES_MAX} values. Do without aliases (*)."
            )
        if node.tag.removeprefix(YAML_TAG) not in TAGS:
            raise UsageError(f"{self._file}:{line}: no YAML that is allowed here: the tag {node.tag!r}. Leave it out.")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*keys, index)) for index, child in enumerate(node.value)]
        try:
            value = self._loader.construct_object(node)
        except ValueError as error:  # such as a date that does not exist
            raise UsageError(f"{self._file}:{line}: {node.value!r}: {error}. Put it in quotes.") from error
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise UsageError(f"{self._file}:{line}: {node.value!r} is read as a {type(value).__name__}. Put it in quotes.")

    def _mapping(self, node: yaml.MappingNode, keys: Keys) -> Plain:
        built: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._loader.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise UsageError(f"{self._file}:{line}: the key {key!r} is no text. Put it in quotes.")
            if key in built:
                before = self.lines[(*keys, key)]
                raise UsageError(
                    f"{self._file}:{line}: the key {key!r} stands twice, first on line {before}. Remove one."
                )
            self.lines[(*keys, key)] = line
            built[key] = self.build(value_node, (*keys, key))
        return built


def _complaint(path: Path, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        problem = error.problem or "something unexpected"
        context = f" {error.context}," if error.context else ""
        return f"{path}:{mark.line + 1}: no YAML:{context} {problem} (column {mark.column + 1}). Correct the line."
    return f"{path} is no YAML: {str(error).splitlines()[0]}."


def _kind_of(value: Plain) -> str:
    if isinstance(value, list | tuple):
        return "a list"
    return "a text" if isinstance(value, str) else f"{value!r}"
