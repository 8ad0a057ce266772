"""The tree of errors.

ChaosAgentError
├── UsageError              the caller's mistake: bad input, unknown name, bad bounds (exit code 2)
│   ├── UnknownNameError    a name nobody registered; carries the nearest known one
│   ├── MissingExtraError   an optional package is not installed; says the command that installs it
│   ├── OtherStudyError     the folder holds a study that is to do something else
│   ├── SearcherError       a searcher raised, or returned what it must not
│   ├── RecordError         a replay record that is damaged, too large or of another version
│   └── StoredDataError     a store or a file of answers that is damaged or of another version
├── TargetError             the target could not be loaded or does not keep its protocol (exit code 4)
│   └── CrossingError       it hands over something that cannot cross a boundary
├── PluginError             an operator or a contract raised, or returned what it must not (exit code 4)
└── StudyError              the study cannot go on: locked, other study's folder, too many errors (exit code 4)

What a *target* sees at its boundaries (time-outs, status errors, blocked actions) stands in
`chaosagent.vocabulary`; those are results of a run, not errors of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# What `chaosagent list` lists, by the kind of name.
LISTED = {
    "operator": "operators",
    "searcher": "searchers",
    "contract": "contracts",
    "target": "targets",
    "pattern": "patterns",
}


class ChaosAgentError(Exception):
    """Every error that chaosagent raises on purpose."""

    exit_code = 4


class UsageError(ChaosAgentError):
    """The caller gave something that is not allowed; the message says what is and what to do."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that nobody registered.

    Args:
        kind: What was looked for, such as `"operator"`.
        name: The name that was given.
        known: The names that exist.
        where: File and place of the name, empty when it was given in code.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        self.kind, self.name, self.where = kind, name, where
        self.known = tuple(sorted(known))
        self.nearest = next(iter(difflib.get_close_matches(name, self.known, n=1, cutoff=0.4)), "")
        place = f"{where}: " if where else ""
        hint = f" Did you mean {self.nearest!r}?" if self.nearest else ""
        listed = ", ".join(self.known[:30]) or "none"
        all_of_them = f" (`chaosagent list {LISTED[kind]}` shows all)" if kind in LISTED else ""
        more = f" ... {len(self.known) - 30} more{all_of_them}" if len(self.known) > 30 else ""
        shown = f"{name!r}" if len(name) <= 200 else f"{name[:200]!r}..."
        super().__init__(f"{place}unknown {kind} {shown}.{hint} Known: {listed}{more}.")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.kind, self.name, self.known, self.where)


class MissingExtraError(UsageError):
    """An optional package is needed and not installed.

    Args:
        package: The package that could not be imported.
        extra: The extra of chaosagent that brings it.
        needed_by: What the user asked for.
    """

    def __init__(self, package: str, extra: str, needed_by: str) -> None:
        self.package, self.extra, self.needed_by = package, extra, needed_by
        super().__init__(
            f"{needed_by} needs {package}, which is not installed: run `pip install 'chaosagent[{extra}]'`."
        )

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), (self.package, self.extra, self.needed_by)


class OtherStudyError(UsageError):
    """A folder holds a study that is to do something else.

    Args:
        folder: Where.
        difference: What differs, as far as is known; `"budget: 2 instead of 1"`.
    """

    def __init__(self, folder: str, difference: str = "") -> None:
        self.folder, self.difference = folder, difference
        told = f": {difference}" if difference else ""
        super().__init__(
            f"{folder} holds another study{told}. Choose another folder with --out; or give what that study was begun "
            f"with, to go on with it (--resume; what is searched may differ: tasks, seeds, budget, limits, searcher); "
            f"or delete {folder}."
        )

    def __reduce__(self) -> tuple[type[OtherStudyError], tuple[str, str]]:
        return type(self), (self.folder, self.difference)


class SearcherError(UsageError):
    """A searcher raised, or returned what it must not.

    Args:
        searcher: Its name.
        method: Of the searcher, or another part of it.
        what: What it did, without a full stop.
    """

    def __init__(self, searcher: str, method: str, what: str) -> None:
        self.searcher, self.method, self.what = searcher, method, what
        super().__init__(
            f"searcher {searcher!r}: {method} {what}. Fix the searcher (chaosagent.testing.searchers checks it), or "
            "take another one with --searcher."
        )

    def __reduce__(self) -> tuple[type[SearcherError], tuple[str, str, str]]:
        return type(self), (self.searcher, self.method, self.what)


class SecretsError(UsageError):
    """A pattern of what is secret that is no regular expression, or that takes too long."""


class RecordError(UsageError):
    """A replay record that cannot be trusted or read."""


class StoredDataError(UsageError):
    """A store, or a file of answers, that is damaged or that this version does not read.

    Args:
        path: The file.
        where: Table and row, or another part of it; empty for the whole file.
        what: What is wrong, without a full stop.
        remedy: What to do, in whole sentences.
    """

    def __init__(self, path: str, where: str, what: str, remedy: str) -> None:
        self.path, self.where, self.what, self.remedy = path, where, what, remedy
        place = f"{path}, {where}" if where else path
        super().__init__(f"{place}: {what}. {remedy}")

    def __reduce__(self) -> tuple[type[StoredDataError], tuple[str, str, str, str]]:
        return type(self), (self.path, self.where, self.what, self.remedy)


class TargetError(ChaosAgentError):
    """The target could not be loaded, or does not keep the protocol of `chaosagent.targets`."""


class CrossingError(TargetError):
    """The target hands over something that cannot cross a boundary, as it is not plain data."""


class PluginError(ChaosAgentError):
    """An operator or a contract raised, or returned what it must not."""


class StudyError(ChaosAgentError):
    """The study cannot go on."""
