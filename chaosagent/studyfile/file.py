"""Reading a study file and telling what is wrong with it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pydantic
from pydantic import BaseModel
from pydantic_core import ErrorDetails

from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.studyfile.settings import CostSettings, RunSettings, SearchSettings, StudySettings
from chaosagent.yaml_file import Keys, Located, quote_value, read_yaml

COMPLAINTS_MAX = 5


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study file that was read and checked by itself, without its target.

    Attributes:
        path: Where it stands; of a study that was written in Python, where its file would stand.
        settings: What it says.
        located: The same as plain data, with lines.
        objects: Targets and contracts that Python code has handed over, by the reference that stands for them.
        only_here: Which of them no other process can import, and why, a clause each.
    """

    path: Path
    settings: StudySettings
    located: Located
    objects: Mapping[str, object] = field(default_factory=dict)
    only_here: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its ending; the folder's, for a file called study."""
        own = self.path.stem
        return self.path.resolve().parent.name or own if own == "study" else own

    @property
    def folder(self) -> Path:
        """Where targets and contracts in files are looked for."""
        return self.path.resolve().parent

    def sets(self, *keys: str) -> bool:
        """Return whether the file gives the value of a key; `"run", "steps"` is `run.steps`."""
        value: object = self.located.data
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return False
            value = value[key]
        return True

    @property
    def text_as_run(self) -> str:
        """The text of the file with what options changed."""
        return self.located.text_as_run


@dataclass(frozen=True, slots=True)
class Overrides:
    """What options of the command line put in the place of the file's values; `None` leaves them.

    Attributes:
        config: Instead of `config`.
        tasks: Instead of `tasks`.
        seeds: Instead of `seeds`.
        contracts: Instead of `contracts`; names or `module:attribute`.
        budget: Instead of `budget`.
        trials: Instead of `search.trials`.
        all_minimal: Instead of `search.all_minimal`; when true, instead of `search.signatures`, too.
        signatures: Instead of `search.signatures`, and of `search.all_minimal`.
        searcher: Instead of `search.searcher`; `search.settings` stay.
        seconds: Instead of `search.seconds`.
        until: Instead of `search.until`.
    """

    config: str | None = None
    tasks: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    contracts: tuple[str, ...] | None = None
    budget: float | None = None
    trials: int | None = None
    all_minimal: bool | None = None
    signatures: int | None = None
    searcher: str | None = None
    seconds: float | None = None
    until: str | None = None

    def applied(self, located: Located) -> Located:
        """Return the file's data with these values in it."""
        values: list[tuple[tuple[str, ...], Plain, str]] = [
            (("config",), self.config, "--config"),
            (("tasks",), None if self.tasks is None else list(self.tasks), "--task"),
            (("seeds",), None if self.seeds is None else list(self.seeds), "--seed"),
            (("contracts",), None if self.contracts is None else list(self.contracts), "--contract"),
            (("budget",), self.budget, "--budget"),
            (("search", "trials"), self.trials, "--trials"),
            (("search", "all_minimal"), self.all_minimal, "--all-minimal"),
            (("search", "signatures"), self.signatures, "--signatures"),
            (("search", "searcher"), self.searcher, "--searcher"),
            (("search", "seconds"), self.seconds, "--seconds"),
            (("search", "until"), self.until, "--until"),
        ]
        for keys, value, option in values:
            if value is not None:
                located = located.with_value(keys, value, option)
        if self.all_minimal and self.signatures is None:
            located = located.without("search", "signatures")
        if self.signatures is not None and not self.all_minimal:
            located = located.without("search", "all_minimal")
        return located


def load_study(path: Path, overrides: Overrides = Overrides()) -> StudyFile:
    """Read a study file.

    Args:
        path: Of the file.
        overrides: Values that take the place of the file's.

    Raises:
        UsageError: The file cannot be read, is no mapping, or has an unknown key, a wrong type or a value that is
            not allowed.
    """
    return parse_study(path, overrides.applied(read_yaml(path, "study file")))


def parse_study(
    path: Path, located: Located, objects: Mapping[str, object] | None = None, only_here: tuple[str, ...] = ()
) -> StudyFile:
    """Check the data of a study by itself, without its target.

    Args:
        path: Where its file stands, or would stand.
        located: The data.
        objects: What references in it stand for, where Python code has handed it over.
        only_here: See `StudyFile`.

    Raises:
        UsageError: It has an unknown key, a wrong type or a value that is not allowed.
    """
    try:
        settings = StudySettings.model_validate(located.data)
    except pydantic.ValidationError as error:
        raise UsageError(_complaints(located, error)) from None
    if settings.search.all_minimal and settings.search.signatures is not None:
        places = " and ".join(dict.fromkeys(located.where("search", key) for key in ("all_minimal", "signatures")))
        raise UsageError(
            f"{places}: search.all_minimal is true and search.signatures is {settings.search.signatures}; the one asks "
            "for every minimal counterexample, the other for an end before that. Leave one of them out."
        )
    return StudyFile(path, settings, located, objects or {}, only_here)


def _complaints(located: Located, error: pydantic.ValidationError) -> str:
    """Return one line for each mistake, with file, line and key."""
    found = sorted(
        {(located.line(*_keys(detail)), _complaint(located, detail)) for detail in error.errors(include_url=False)}
    )
    lines = [complaint for _, complaint in found[:COMPLAINTS_MAX]]
    if len(found) > COMPLAINTS_MAX:
        lines.append(f"... {len(found) - COMPLAINTS_MAX} more")
    return "\n".join(lines)


def _complaint(located: Located, detail: ErrorDetails) -> str:
    keys = _keys(detail)
    where, key = located.where(*keys), ".".join(map(str, keys))
    if detail["type"] == "missing":
        return f"{where}: the key {key!r} is missing. Add it, for example `{key}: triage`."
    if detail["type"] == "extra_forbidden":
        known = _known_keys(keys[:-1])
        nearest = difflib.get_close_matches(str(keys[-1]), known, n=1, cutoff=0.4)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        above = next((part for part in PARTS if len(keys) == 1 and str(keys[0]) in _known_keys((part,))), "")
        if above:
            hint = f" It belongs under `{above}`: write `{above}: {{{key}: ...}}`."
        return f"{where}: unknown key {quote_value(key)}.{hint} Known: {', '.join(known)}."
    hint = _hint_in_sixties(detail["input"])
    if detail["type"] == "list_type":
        is_mapping = isinstance(detail["input"], dict)
        hint = " Begin each line below it with `- `." if is_mapping else " Write it in brackets: [...]."
    elif not hint and isinstance(detail["input"], str) and keys[-1] in UNITS:
        hint = f" Write it in {UNITS[str(keys[-1])]}, without a unit."
    return f"{where}: {_counted_from_one(keys)} is {quote_value(detail['input'])}; {_allowed(detail)}.{hint}"


def _hint_in_sixties(value: object) -> str:
    """Return what to write in the place of `1:59:59`, which some readers of YAML take for a number."""
    if not isinstance(value, str) or re.fullmatch(r"\d{1,4}(:[0-5]?\d){1,2}", value) is None:
        return ""
    number = 0
    for part in value.split(":"):
        number = 60 * number + int(part)
    return f" Write one number, such as {number} for {value} in its smallest unit."


def _counted_from_one(keys: Keys) -> str:
    """Return keys as people say them: `seeds.1` is the second seed."""
    named = ".".join(str(key) for key in keys if isinstance(key, str))
    number = next((key for key in keys if isinstance(key, int)), None)
    return named if number is None else f"entry {number + 1} of {named}"


def _allowed(detail: ErrorDetails) -> str:
    """Say in our own words what is allowed; those of pydantic are about Python, and change with its versions."""
    bound: Mapping[str, object] = detail.get("ctx", {})
    for limit, words in _BOUNDS.items():
        if limit in bound and detail["type"] not in _ALLOWED:
            return words.format(bound[limit])
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    return _ALLOWED.get(detail["type"], f"that is not allowed ({detail['type'].replace('_', ' ')})")


PARTS = ("search", "run")
UNITS: Mapping[str, str] = {
    "seconds": "seconds",
    "wall_seconds": "seconds",
    "virtual_seconds": "seconds",
    "memory_megabytes": "megabytes",
}
_BOUNDS: Mapping[str, str] = {
    "ge": "it must be at least {}",
    "gt": "it must be greater than {}",
    "le": "it must be at most {}",
    "lt": "it must be less than {}",
    "max_length": "it must have at most {} entries",
}
_ALLOWED: Mapping[str, str] = {
    "bool_type": "it must be true or false",
    "dict_type": "it must be a mapping",
    "finite_number": "it must be a finite number",
    "float_type": "it must be a number",
    "int_type": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "list_type": "it must be a list",
    "model_type": "it must be a mapping",
    "string_too_short": "it must not be empty",
    "string_type": "it must be a text",
    "string_unicode": "it must be a text without lone surrogates",
    "too_short": "it must not be empty",
}


def _keys(detail: ErrorDetails) -> Keys:
    return tuple(detail["loc"])


def _known_keys(keys: Keys) -> list[str]:
    parts: dict[str, type[BaseModel]] = {"cost": CostSettings, "search": SearchSettings, "run": RunSettings}
    model = parts.get(str(keys[0]), StudySettings) if keys else StudySettings
    return list(model.model_fields)
