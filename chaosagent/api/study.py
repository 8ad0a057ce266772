"""A study written in Python: the keys of a study file, with objects where the file has names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, TypedDict

import yaml

from chaosagent.api.arguments import path_of, plain_of
from chaosagent.api.entries import ContractEntry, Entries, OperatorEntry
from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.studyfile import StudyFile, load_study, parse_study
from chaosagent.targets.target import Target
from chaosagent.yaml_file import Located

StudyPath: TypeAlias = "str | Path"
_OURS = ("chaosagent", "dataclasses")


class CostKeys(TypedDict, total=False):
    """The weights of the cost of a schedule: the keys below `cost` of a study file."""

    c_tokens: float
    c_hook: float
    c_mag: float


class SearchKeys(TypedDict, total=False):
    """Who searches, and for how long: the keys below `search` of a study file."""

    searcher: str
    settings: Mapping[str, Plain]
    seed: int
    lookahead: int
    trials: int
    speculate: bool | None
    seconds: float | None
    until: str | None
    audit: int
    confirmations: int
    alpha: float
    beta: float
    difference: float
    all_minimal: bool
    signatures: int | None
    error_share: float


class RunKeys(TypedDict, total=False):
    """What one run may use: the keys below `run` of a study file."""

    steps: int
    turns: int
    turns_total: int
    virtual_seconds: float
    wall_seconds: float
    memory_megabytes: int


@dataclass(frozen=True, slots=True)
class Study:
    """What to search: the keys of a study file, as keyword arguments.

        Study(
            agent,
            contracts=["default", no_night_refunds],
            operators=["service.timeout", Delay(seconds=60.0)],
            budget=2.0,
            search={"trials": 500},
        )

    Whatever is left out, or `None`, is as in a study file that does not mention it. It is checked by the same code as a
    study file, when it is made, apart from names that need the target; those are checked by `search`. Change a study
    with `dataclasses.replace`.

    Attributes:
        target: The target itself, or its name, `module:attribute` or `file.py:attribute`; files are looked for in the
            working directory.
        config: One of the target's configurations; its first by default.
        tasks: Ids of some of its tasks; all by default.
        seeds: Of the runs; `[0]` by default.
        contracts: Contracts, their names, mappings with `contract` and settings; `"default"` stands for the default
            ones, and is the default.
        budget: Up to which cost schedules are searched; 3 by default.
        cost: What an injection costs.
        operators: Operators, their classes, names, patterns such as `"memory.*"`, or mappings with `operator`, levels,
            `interfaces` and `agents`; the usual ones by default.
        stochastic: Whether answers come by chance; found out by default.
        fresh: Each run has a process of its own.
        allow: What the target may open outside of its doors without being told: patterns of files, `host:port` and
            names of programs.
        search: Who searches, and for how long.
        run: What one run may use.
        where: File and line of the code that made it, for messages.

    Raises:
        UsageError: A key has a value that is not allowed; the message names file and line of the call.
    """

    target: Target | str
    _: KW_ONLY
    config: str | None = None
    tasks: Sequence[str] | None = None
    seeds: Sequence[int] | None = None
    contracts: Sequence[ContractEntry] | None = None
    budget: float | None = None
    cost: CostKeys | None = None
    operators: Sequence[OperatorEntry] | None = None
    stochastic: bool | None = None
    fresh: bool = False
    allow: Sequence[str] = ()
    search: SearchKeys | None = None
    run: RunKeys | None = None
    where: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", place_of_caller())
        file_of(self)


def placed(study: Study, where: str) -> Study:
    """Return a copy of a study whose messages name another place than that of the code that made it."""
    copied = replace(study)
    object.__setattr__(copied, "where", where)
    return copied


def study_file(study: Study | StudyPath) -> StudyFile:
    """Return a study as study files are after they were read, whichever way it was written.

    Raises:
        UsageError: It is neither a study nor the path of a study file, or it is not allowed.
    """
    if isinstance(study, Study):
        return file_of(study)
    if isinstance(study, str | Path):
        return load_study(path_of("search", "study", study))
    hint = " Write Study(...) around the target." if isinstance(study, Target) else ""
    raise UsageError(f"a study is the path of a study file or a Study; this is {type(study).__name__}.{hint}")


def file_of(study: Study) -> StudyFile:
    """Return the study file that says the same as a study in Python."""
    entries = Entries(study.where)
    data: dict[str, Plain] = {"target": entries.target(study.target)}
    for key in ("config", "tasks", "seeds", "budget", "cost", "stochastic", "fresh", "allow", "search", "run"):
        value = getattr(study, key)
        if value is not None and (key, value) not in (("fresh", False), ("allow", ())):
            data[key] = plain_of(value, f"{study.where}: {key}")
    if study.contracts is not None:
        data["contracts"] = entries.contracts(study.contracts)
    if study.operators is not None:
        data["operators"] = entries.operators(study.operators)
    name = study.target.name if isinstance(study.target, Target) else "study"
    path = Path.cwd() / f"{name.rpartition('/')[2]}.yaml"
    file = parse_study(path, Located(study.where, "", data, {}), entries.objects, tuple(entries.only_here))
    return replace(file, located=replace(file.located, text=_text_of(data, study.where)))


def _text_of(data: Mapping[str, Plain], where: str) -> str:
    try:
        body = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=120)
    except yaml.YAMLError as error:
        raise UsageError(
            f"{where}: a value is no plain data: {error}. Give numbers, texts, lists and mappings."
        ) from error
    return f"# Written in Python: {where}\n{body}"


def place_of_caller() -> str:
    """Return file and line of the code that makes a study."""
    frame = inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        frame = frame.f_back
    if frame is None:
        return "Study(...)"
    path = Path(frame.f_code.co_filename)
    here = Path.cwd()
    name = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{name}:{frame.f_lineno}"
