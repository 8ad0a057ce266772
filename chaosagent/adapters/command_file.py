"""A command as a target, described in a file: no Python is needed.

    command: node agent.mjs
    models: {openai: https://api.openai.com}
    services:
      shop:
        upstream: http://127.0.0.1:8080
        effects: {POST /refunds: [order, amount]}
        failed_when: {POST /refunds: {json: status, is: error}}
    mcp: {bank: {server: "node bank.mjs", effects: {transfer: [to, amount]}, read_only: [balance]}}
    tasks: [{id: late-parcel, input: {order: A-17}}]

A program that prompts gets lines from `stdin` of a task, `{id: late, stdin: {"Order:": A-17, "Anything else?": "no"}}`:
see `chaosagent.adapters.prompted_lines`.

`effects` and `failed_when` take the forms of `chaosagent.effects`, for example names of arguments, a function
`eff.py:book`, `{identity: [key], idempotent: true}`; and `"^Error"` for all operations.

A study file names it as `target: agent.yaml`. Where a URL stands, there may be `scripted:file.py:function` or
`scripted:module:function`, or `canned:answers.yaml` for a model; for a service the function returns the functions that
stand in its place, see `chaosagent.proxy.service.Service`. Files are looked for in the folder of the description, in
which the command runs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from chaosagent.adapters.command import SECONDS_MAX, command
from chaosagent.adapters.core.described import STRICT, effects_from, loader_in, validated
from chaosagent.adapters.doors import Tools
from chaosagent.adapters.mcp.server import McpServer
from chaosagent.adapters.prompted_lines import KEY
from chaosagent.effects.failed_when import failed_when_from
from chaosagent.errors import UsageError
from chaosagent.importable import make_importable
from chaosagent.proxy.concurrency import SECONDS
from chaosagent.proxy.service import Service
from chaosagent.proxy.upstream import answers_in, base_url, canned_model
from chaosagent.targets.references import load_object
from chaosagent.targets.target import Target
from chaosagent.vocabulary import Labels, SystemConfig, Task
from chaosagent.yaml_file import Located, quote_value

_LINES_BY_PROMPT = (
    "it must be a mapping from each prompt that the program prints to the line, or the list of lines, to type there, "
    'such as {"Order:": A-17, "Anything else?": ["yes", "no"]}.'
)
SCRIPTED, CANNED = "scripted:", "canned:"


class _Strict(BaseModel):
    model_config = STRICT


class _Service(_Strict):
    upstream: str
    effects: dict[str, Any] = {}
    failed_when: Any = None
    read_only: list[str] = []
    routes: list[str] = []
    egress: bool = False
    reset: str = ""


class _McpServer(_Strict):
    server: str
    effects: dict[str, Any] = {}
    failed_when: Any = None
    read_only: list[str] = []
    egress: list[str] = []


class _Labels(_Strict):
    misuse: bool = False
    forbidden: list[str] = []
    canaries: list[str] = []


class _Task(_Strict):
    id: str
    input: Any = None
    stdin: Any = None
    category: str = "tool use"
    untrusted: list[str] = []
    labels: _Labels = _Labels()


class _Config(_Strict):
    name: str
    settings: dict[str, Any] = {}


class _CommandFile(_Strict):
    command: Annotated[str | list[str], Field(min_length=1)]
    models: dict[str, str] = {}
    services: dict[str, _Service] = {}
    mcp: dict[str, _McpServer] = {}
    tasks: list[_Task] = []
    configs: list[_Config] = []
    name: str = ""
    environment: dict[str, str] = {}
    objective: str = ""
    secrets: list[str] = []
    prompts: bool = False
    pure: bool = True
    together_seconds: Annotated[float, Field(ge=0, le=1)] = SECONDS
    seconds_max: Annotated[float, Field(gt=0)] = SECONDS_MAX


def load_command(located: Located, file: Path, where: str = "") -> Target:
    """Return the target that a description of a command describes.

    Args:
        located: What the file says.
        file: The description.
        where: What messages call the place that names it.

    Raises:
        UsageError: The file cannot be read, or says what is not allowed.
        TargetError: Something that it names cannot be loaded.
    """
    said = validated(located, _CommandFile, _keys_at, where)
    folder = file.resolve().parent
    make_importable(folder)
    models = {name: model_of(place, folder, f"{file}: models.{name}") for name, place in said.models.items()}
    services = {name: _service(entry, folder, f"{file}: services.{name}") for name, entry in said.services.items()}
    mcp = {name: _mcp_server(entry, folder, f"{file}: mcp.{name}") for name, entry in said.mcp.items()}
    objective: Any = load_object(said.objective, where=f"{file}: objective", folder=folder) if said.objective else None
    tasks = [
        Task(task.id, _input(task, located, number), task.category, tuple(task.untrusted), _labels(task.labels))
        for number, task in enumerate(said.tasks)
    ]
    try:
        return command(
            said.command,
            models=models,
            services=services,
            mcp=mcp,
            tasks=tasks,
            configs=[SystemConfig(config.name, config.settings) for config in said.configs],
            name=said.name or folder.name,
            folder=folder,
            objective=objective,
            interactive=any(task.stdin is not None for task in said.tasks),
            **said.model_dump(include={"environment", "secrets", "prompts", "pure", "together_seconds", "seconds_max"}),
        )
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error


def model_of(place: str, folder: Path, where: str) -> str | Callable[[Mapping[str, Any]], Any]:
    """Return the URL of a model, or the function that stands in its place.

    Raises:
        UsageError: It is neither, or the function or file is not there.
        TargetError: The code of the function fails on import.
    """
    if place.startswith(CANNED):
        return canned_model(answers_in(folder / place.removeprefix(CANNED), where))
    if place.startswith(SCRIPTED):
        return _function(place, folder, where)
    base_url(place, where)
    return place


def service_of(place: str, folder: Path, where: str) -> str | Callable[[], Mapping[str, Callable[..., Any]]]:
    """Return the URL of a service, or the function that returns what stands in its place; errors as `model_of`."""
    if place.startswith(SCRIPTED):
        return _function(place, folder, where)
    base_url(place, where)
    return place


def _keys_at(path: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are known at a place of the file."""
    kinds: dict[str, type[BaseModel]] = {"services": _Service, "mcp": _McpServer, "tasks": _Task, "configs": _Config}
    kind: type[BaseModel] = kinds.get(str(path[0]), _CommandFile) if path else _CommandFile
    if "labels" in path[1:]:
        kind = _Labels
    return sorted(kind.model_fields)


def _service(entry: _Service, folder: Path, where: str) -> Service:
    return Service(
        service_of(entry.upstream, folder, where),
        effects=effects_from(entry.effects, folder, where),
        read_only=tuple(entry.read_only),
        routes=tuple(entry.routes),
        egress=entry.egress,
        reset=entry.reset,
        failed_when=failed_when_from(entry.failed_when, f"{where}.failed_when", loader_in(folder)),
    )


def _mcp_server(entry: _McpServer, folder: Path, where: str) -> McpServer:
    failing = failed_when_from(entry.failed_when, f"{where}.failed_when", loader_in(folder))
    tools = Tools(effects_from(entry.effects, folder, where), entry.read_only, egress=entry.egress, failed_when=failing)
    return McpServer(entry.server, tools, folder)


def _function(place: str, folder: Path, where: str) -> Callable[..., Any]:
    reference = place.removeprefix(SCRIPTED)
    found = load_object(reference, where=where, folder=folder)
    if not callable(found):
        raise UsageError(f"{where}: {reference} is {type(found).__name__}, not a function.")
    return found


def _input(task: _Task, located: Located, number: int) -> Any:
    """Return the input of a task, with the lines for stdin in it.

    Raises:
        UsageError: They are no lines by prompt, or the input cannot hold them.
    """
    if task.stdin is None:
        return task.input
    where = f"{located.where('tasks', number, 'stdin')}: stdin of task {task.id!r}"
    if not isinstance(task.stdin, dict) or not task.stdin or any(not str(prompt).strip() for prompt in task.stdin):
        raise UsageError(f"{where} is {quote_value(task.stdin)}; {_LINES_BY_PROMPT}")
    lines = {}
    for prompt, given in task.stdin.items():
        lines[str(prompt)] = listed = given if isinstance(given, list) else [given]
        odd = [line for line in listed if not isinstance(line, str) or "\n" in line]
        if odd:
            raise UsageError(
                f"{where}: the line {quote_value(odd[0])} after {prompt!r} is no text in one line. Put it into quotes, "
                'as in "yes"; several lines are a list.'
            )
    if task.input is not None and not isinstance(task.input, dict):
        raise UsageError(f"{where}: beside `stdin`, the input is left out or is a mapping, as in {{order: A-17}}.")
    return {**(task.input or {}), KEY: lines}


def _labels(labels: _Labels) -> Labels:
    return Labels(labels.misuse, tuple(labels.forbidden), tuple(labels.canaries))
