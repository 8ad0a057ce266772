"""The plan of a study file: its target, contracts and space, loaded."""

from __future__ import annotations

import fnmatch
import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.contract import Contract
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.execution.hidden_state.file_watch import watch_files
from chaosagent.execution.workers.own_process import refuse_threads, threads_of_others
from chaosagent.execution.workers.workbench import Workbench, load_workbench
from chaosagent.faults.operator import OPERATORS, CostModel, ParameterValue, bind
from chaosagent.faults.presets import PRESETS, operators_of
from chaosagent.faults.space import Choices, Space
from chaosagent.importable import make_importable
from chaosagent.limits import RunLimits, StudyLimits
from chaosagent.study.plan import Plan
from chaosagent.study.searcher import factory_of
from chaosagent.study.searcher_settings import check_settings, settings_of
from chaosagent.studyfile.file import StudyFile
from chaosagent.targets.decorated import check_needs
from chaosagent.targets.loading import COMMAND_FILES, load_target
from chaosagent.targets.target import Target
from chaosagent.vocabulary import Boundary, Severity
from chaosagent.yaml_file import Keys, Located, quote_value

ELSEWHERE = "For one elsewhere, install it or put its folder on PYTHONPATH, and write module:Class."


def plan_of(study: StudyFile) -> Plan:
    """Return the plan of a study file; loads its target and contracts.

    Raises:
        UsageError: The file names a configuration, task, contract, operator, parameter or searcher that does not exist
            or is not allowed.
        TargetError: The target cannot be loaded.
    """
    settings, located = study.settings, study.located
    make_importable(study.folder)
    reference = _target_of(study)
    _make_target_importable(reference)
    before = threads_of_others()
    target = study.objects.get(settings.target)
    with watch_files(databases_only=True) as opened:
        if not isinstance(target, Target):
            target = load_target(reference, where=located.where("target"), folder=study.folder)
    check_needs(target.run)
    if settings.fresh or target.fresh:
        refuse_threads(before, target.name)
    config = next(iter(target.configs)) if settings.config is None else settings.config
    specs, contracts = _contracts(study)
    space = space_of(study)
    return Plan(
        target=target,
        target_reference=portable_reference(reference, study.folder),
        config=target.config(config, located.where("config")),
        tasks=tuple(
            target.task(name, located.where("tasks", index)) for index, name in enumerate(_tasks(study, target))
        ),
        seeds=tuple(dict.fromkeys(settings.seeds)),
        contracts=contracts,
        contract_specs=specs,
        space=space,
        budget=settings.budget,
        searcher=_searcher(study),
        searcher_settings=_searcher_settings(study),
        lookahead=settings.search.lookahead,
        speculate=settings.search.speculate,
        seed=settings.search.seed,
        limits=StudyLimits(
            trials_max=settings.search.trials,
            seconds_max=settings.search.seconds,
            error_share_max=settings.search.error_share,
            until=settings.search.until,
        ),
        run_limits=RunLimits(
            steps_max=settings.run.steps,
            turns_max=settings.run.turns,
            turns_total_max=settings.run.turns_total,
            virtual_seconds_max=settings.run.virtual_seconds,
            wall_seconds_max=settings.run.wall_seconds,
            memory_megabytes_max=settings.run.memory_megabytes,
        ),
        audit=settings.search.audit,
        stochastic=settings.stochastic,
        fresh=settings.fresh or target.fresh,
        opened=tuple(opened),
        allow=tuple(settings.allow),
        confirmations=settings.search.confirmations,
        alpha=settings.search.alpha,
        beta=settings.search.beta,
        difference=settings.search.difference,
        all_minimal=settings.search.all_minimal,
        signatures=settings.search.signatures,
    )


def portable_reference(reference: str, folder: Path) -> str:
    """Return a reference that works without its folder: a file below the working directory is named from there."""
    place, colon, attribute = reference.rpartition(":")
    if reference.endswith(COMMAND_FILES):
        place, colon, attribute = reference, "", ""
    elif not place.endswith(".py"):
        return reference
    path = (folder / place).resolve()
    here = Path.cwd().resolve()
    named = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{named.as_posix()}{colon}{attribute}"


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """Makes the workbench of a worker process; plain data, so that it can be sent there.

    Attributes:
        target_reference: As the study file has it.
        folder: Of the study file.
        config: Name of the configuration.
        contract_specs: As plain data.
        limits: Of one run.
        answers: The file of frozen answers.
        fresh: Each run has a process of its own.
    """

    target_reference: str
    folder: str
    config: str
    contract_specs: tuple[Plain, ...]
    limits: RunLimits
    answers: Path | None = None
    fresh: bool = False

    def __call__(self) -> Workbench:
        """Return the workbench, in the process in which it is needed."""
        make_importable(Path(self.folder))
        _make_target_importable(self.target_reference)
        return load_workbench(
            self.target_reference,
            self.config,
            self.contract_specs,
            limits=self.limits,
            folder=Path(self.folder),
            answers=self.answers,
            fresh=self.fresh,
        )


def worker_setup(study: StudyFile, plan: Plan) -> WorkerSetup:
    """Return what a worker process needs to run the trials of a study file."""
    return WorkerSetup(
        _target_of(study),
        str(study.folder),
        plan.config.name,
        plan.contract_specs,
        plan.run_limits,
        plan.answers,
        plan.fresh,
    )


def _target_of(study: StudyFile) -> str:
    """Return the reference of the target, with an absolute path if its file lies only in the working directory.

    Beside the study comes first, so that a study means the same wherever it is searched from.

    Raises:
        UsageError: It names a file that is in neither place.
    """
    reference = study.settings.target
    is_command = reference.endswith(COMMAND_FILES)
    place = reference if is_command else reference.rpartition(":")[0]
    here = Path.cwd()
    if reference in study.objects or not place.endswith((".py", *COMMAND_FILES)):
        return reference
    if here == study.folder or (study.folder / place).is_file():
        return reference
    if (here / place).is_file():
        return f"{here / place}{reference.removeprefix(place)}"
    raise UsageError(
        f"{study.located.where('target')}: there is no file {study.folder / place}, and none of that name in the "
        f"working directory, {here}."
    )


def _make_target_importable(reference: str) -> None:
    """Let what lies beside a target's file be imported during runs, too, where that is not the study's folder."""
    path = Path(reference.rpartition(":")[0])
    if path.is_absolute():
        make_importable(path.parent)


def _tasks(study: StudyFile, target: Target) -> tuple[str, ...]:
    return tuple(target.tasks) if study.settings.tasks is None else tuple(dict.fromkeys(study.settings.tasks))


def _contracts(study: StudyFile) -> tuple[tuple[Plain, ...], tuple[Contract, ...]]:
    """Return the contracts, each once, as plain data and made."""
    specs: list[Plain] = []
    contracts: dict[str, Contract] = {}
    for index, entry in enumerate(study.settings.contracts):
        where = study.located.where("contracts", index)
        for spec in _default_names() if entry == "default" else (_importable(cast(Plain, entry), study, where),):
            contract = _contract(spec, where, study.objects)
            if contract.id in contracts:
                raise UsageError(
                    f"{where}: there is a contract {contract.id!r} already. Give one of them another `id`."
                )
            contracts[contract.id] = contract
            specs.append(spec)
    if not any(contract.severity is Severity.HARD for contract in contracts.values()):
        raise UsageError(
            f"{study.located.where('contracts')}: all contracts are soft. Only hard ones are searched: add one."
        )
    return tuple(specs), tuple(contracts.values())


def _contract(spec: Plain, where: str, objects: Mapping[str, object]) -> Contract:
    given = objects.get(spec) if isinstance(spec, str) else None
    if isinstance(given, Contract):
        return given
    try:
        return parse_contract(spec, where)
    except UnknownNameError as error:
        if not isinstance(spec, str):
            raise
        # In a study file `default` is a name, too.
        raise UnknownNameError(error.kind, error.name, (*error.known, "default"), where) from error


def _default_names() -> tuple[Plain, ...]:
    return tuple(contract.id for contract in default_contracts())


def _importable(entry: Plain, study: StudyFile, where: str, kind: str = "contract") -> Plain:
    """Turn `file.py:attribute` into `module:attribute`, which workers and replays can import."""
    if not isinstance(entry, str) or not entry.rpartition(":")[0].endswith(".py"):
        return entry
    place, _, attribute = entry.rpartition(":")
    relative = PurePosixPath(place)
    if relative.is_absolute() or ".." in relative.parts:
        raise UsageError(f"{where}: {kind} {entry!r}: name a file next to the study file or below it. {ELSEWHERE}")
    path = study.folder / relative
    if not path.is_file():
        raise UsageError(f"{where}: {kind} {entry!r}: there is no file {path}. {ELSEWHERE}")
    module = ".".join((*relative.parent.parts, relative.stem))
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None or Path(found.origin).resolve() != path.resolve():
        other = "" if found is None or found.origin is None else f" ({found.origin})"
        raise UsageError(
            f"{where}: {kind} {entry!r}: another module is called {module!r}, too{other}. Give the file another name."
        )
    return f"{module}:{attribute}"


def _searcher(study: StudyFile) -> str:
    """Return the name of the searcher, registered or `module:attribute`."""
    given = study.settings.search.searcher
    return str(_importable(given, study, study.located.where("search", "searcher"), "searcher"))


def _searcher_settings(study: StudyFile) -> Mapping[str, Plain]:
    settings = study.settings.search
    where, name = study.located.where("search", "searcher"), _searcher(study)
    factory = factory_of(name, where)
    given = cast("dict[str, Plain]", dict(settings.settings))
    known = settings_of(factory)
    for key in given:
        if key not in known and where == "--searcher":
            raise UsageError(
                f"{study.located.where('search', 'settings', key)}: search.settings.{key} is no setting of searcher "
                f"{name!r} of --searcher. Remove it, or leave out --searcher. "
                f"Settings of {name!r}: {', '.join(known) or 'none'}."
            )
    check_settings(name, factory, given, lambda key: study.located.where("search", "settings", key))
    return given


def space_of(study: StudyFile) -> Space:
    """Return the space that a study file declares.

    Raises:
        UsageError: An operator, parameter, level or interface is unknown or not allowed; with file and line.
    """
    cost = study.settings.cost
    model = CostModel(cost.c_tokens, cost.c_hook, cost.c_mag)
    if study.settings.operators is None:
        return Space(model=model)
    choices = [
        choice
        for index, entry in enumerate(study.settings.operators)
        for choice in _choices(entry, ("operators", index), study.located)
    ]
    return Space(choices, model)


def _choices(entry: object, keys: Keys, located: Located) -> list[Choices]:
    """Return what one entry allows: a name, glob pattern or preset, or a mapping with levels and places."""
    where = located.where(*keys)
    given: dict[str, object] = dict(entry) if isinstance(entry, dict) else {"operator": entry}
    name = given.pop("operator", None)
    if not isinstance(name, str):
        raise UsageError(
            f"{where}: {quote_value(entry)} is no operator. Write its name, or a mapping with `operator: <name>`."
        )
    interfaces = _patterns(given.pop("interfaces", ["*"]), (*keys, "interfaces"), located)
    agents = _patterns(given.pop("agents", ["*"]), (*keys, "agents"), located)
    _check_interfaces(interfaces, located.where(*keys, "interfaces"))
    is_preset = name in PRESETS
    names = operators_of(name) if is_preset else fnmatch.filter(OPERATORS, name) if "*" in name else [name]
    if not names:
        patterns = {"*", *(f"{known.partition('.')[0]}.*" for known in OPERATORS)}
        raise UnknownNameError("operator", name, patterns, where)
    if given and len(names) > 1:
        raise UsageError(f"{where}: {name!r} stands for {len(names)} operators; parameters go to one. Name it.")
    named = "*" not in name and not is_preset
    if len(names) == 1 and name not in OPERATORS and "*" not in name and not is_preset:
        raise UnknownNameError("operator", name, (*OPERATORS, *PRESETS), where)
    return [Choices(one, _levels(one, given, keys, located), interfaces, agents, named, where) for one in names]


def _levels(
    operator: str, given: Mapping[str, object], keys: Keys, located: Located
) -> dict[str, tuple[ParameterValue, ...]]:
    kind = OPERATORS.get(operator, located.where(*keys))
    levels: dict[str, tuple[ParameterValue, ...]] = {}
    for parameter, value in given.items():
        where = located.where(*keys, parameter)
        if parameter not in kind.parameters:
            known = [*kind.parameters, "interfaces", "agents"]
            raise UnknownNameError(f"parameter of {operator}:", parameter, known, where)
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(level, bool | int | float | str) for level in values):
            raise UsageError(
                f"{where}: {operator}({parameter}={quote_value(value)}): give one level or a list of levels."
            )
        checked = cast("list[ParameterValue]", values)
        for level in checked:
            try:
                bind(operator, ((parameter, level),))
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        levels[parameter] = tuple(dict.fromkeys(checked))
    return levels


def _patterns(value: object, keys: Keys, located: Located) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(pattern, str) for pattern in values):
        raise UsageError(
            f"{located.where(*keys)}: {keys[-1]} is {quote_value(value)}; it must be a list of glob patterns."
        )
    return tuple(values)


def _check_interfaces(patterns: Iterable[str], where: str) -> None:
    """Refuse patterns that can match no interface: a space that is empty by mistake finds nothing, and proves it."""
    boundaries = [boundary.value for boundary in Boundary]
    for pattern in patterns:
        boundary, colon, _ = pattern.partition(":")
        if not colon and "*" not in pattern:
            raise UsageError(f"{where}: interface {pattern!r} has no boundary. Write for example 'service:{pattern}'.")
        if colon and not any(fnmatch.fnmatchcase(known, boundary) for known in boundaries):
            raise UnknownNameError("boundary", boundary, boundaries, where)
