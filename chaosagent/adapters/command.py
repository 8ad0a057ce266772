"""Agents in any language: a command, whose models and services are reached through a proxy of the run.

from chaosagent.adapters.command import McpServer, Service, command

agent = command(
    "node agent.mjs",
    models={"openai": "https://api.openai.com"},
    services={"shop": Service("http://127.0.0.1:8080", effects={"POST /refunds": chaosagent.effect("order")})},
    tasks=[chaosagent.Task("refund", {"order": "A-17"})],
)

A study file names it as `target: agent.py:agent`; without any Python, as `target: agent.yaml`: see
`chaosagent.adapters.command_file`.

What the process is told: `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` (`<NAME>_BASE_URL` of any other model) and
`<SERVICE>_URL`, which are addresses of this run's proxy; of an MCP server (`mcp={"bank": McpServer("node bank.mjs")}`),
what its client is given in the server's place: `<SERVER>_MCP_COMMAND`, a command to start, and `<SERVER>_MCP_URL`, if
the server has a URL; the task, as JSON, in `CHAOSAGENT_TASK` and on stdin, with `CHAOSAGENT_CONFIG` beside it;
`CHAOSAGENT_SEED`, and `CHAOSAGENT_RUN_ID`, 32 hexadecimal digits that follow from task, configuration and seed: ids and
random numbers that are derived from them repeat, under every schedule; `TMPDIR`, a fresh folder in every run, also for
the MCP servers that it starts, with a fixed path in traces. What it tells: the last line of stdout, if it is
a JSON object, has the fields of `chaosagent.Outcome` (`message`, `success`, `claims`, `state`, `refused`); otherwise
all of stdout is the final message. Another exit code than 0 is a crash.

Pinned, so that a run repeats: ids and times in what models answer are made anew; calls at the same time are put into an
order; the port of the proxy and the token in its addresses are taken out of what crosses and of what the process says.
Not pinned: what the process draws by itself, such as random numbers, times and ids of its own, as far as it shows them
to a model, a service or in its outcome: derive these from `CHAOSAGENT_RUN_ID`, or leave them out. An idempotency key in
a header does not cross, one in a body does.

The process runs in a session of its own, which is killed when the run ends, for whatever reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shlex
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

from chaosagent.adapters.mcp.server import McpServer
from chaosagent.adapters.prompted_lines import Lines, PromptedLines, lines_in
from chaosagent.canonical import Plain, digest_of, plain
from chaosagent.errors import TargetError, UsageError
from chaosagent.proxy.concurrency import AgentProcesses
from chaosagent.proxy.proxy import Backends, Proxy
from chaosagent.proxy.server import require_server
from chaosagent.proxy.service import Service
from chaosagent.proxy.workspace import Workspace, end_of
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task

__all__ = ["McpServer", "Service", "command"]

SECONDS_MAX = 300.0
COMPLAINT_MAX = 300
RUN_ID_DIGITS = 32
"""As many hexadecimal digits as a UUID has."""
END_SECONDS = 1.0
"""How long a process may go on when its run is over."""

_RULED = " \t|"
"""What Python draws around the traceback of a group of exceptions."""

_RUNS = itertools.count(1)
_FIELDS = frozenset({"message", "success", "claims", "state", "refused"})

# The shell reads from a pipe whose other end only this process holds. When this process ends, even by kill -9, the pipe
# is closed, and the group of the agent goes, too.
_GUARD = """
exec 3<&0
(read -r _ <&3; kill -9 0) </dev/null >/dev/null 2>&1 &
told=$1
shift
exec "$@" <"$told" 3<&-
"""


@runtime_checkable
class _Noting(Protocol):
    """A run that takes notes for the author of the target, which reach no trace."""

    author_notes: list[str]


class CommandFailed(Exception):
    """The command ended with another exit code than 0, or not in time."""


@dataclass(frozen=True, slots=True)
class Command:
    """How an agent is run as a process.

    Attributes:
        argv: The program and its arguments.
        behind: What stands behind the proxy.
        folder: In which it runs; the working directory when `None`.
        environment: Further variables.
        seconds_max: Real seconds after which the process is killed; then it has crashed.
        files: What it is made of, as far as is known; a change makes it another target.
        interactive: It prompts: stdin has the lines of the task's input, see `chaosagent.adapters.prompted_lines`.
    """

    argv: tuple[str, ...]
    behind: Backends
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds_max: float = SECONDS_MAX
    files: tuple[Path, ...] = ()
    interactive: bool = False

    @property
    def is_command(self) -> bool:
        """Whether advice to its author must do without Python: always."""
        return True

    async def __call__(self, task: Task, run: Run) -> Outcome:
        """Run the process once.

        Raises:
            CommandFailed: It failed; or the run was over before it ended.
            TargetError: It cannot be started, or something behind the proxy cannot be reached.
        """
        told = json.dumps({"id": task.id, "input": plain(task.input)}, default=repr)
        config = json.dumps({"name": run.config.name, "settings": plain(run.config.settings)}, default=repr)
        own = {
            "CHAOSAGENT_TASK": told,
            "CHAOSAGENT_CONFIG": config,
            "CHAOSAGENT_SEED": str(run.seed),
            "CHAOSAGENT_RUN_ID": digest_of([task.id, run.config.digest, run.seed])[:RUN_ID_DIGITS],
        }
        with Workspace({**self.environment, **own}, fresh=run.clock.of_study) as workspace:
            proxy = Proxy(run, self.behind, f"{os.getpid()}-{next(_RUNS)}", workspace=workspace)
            try:
                return await self._outcome(proxy, workspace, told, lines_in(task.input) if self.interactive else None)
            except (CommandFailed, asyncio.CancelledError) as error:
                notes = [*workspace.notes, *workspace.printed, *proxy.world_errors.tracebacks]
                for text in notes:
                    error.add_note(text)
                if isinstance(run, _Noting):
                    run.author_notes.extend(notes)
                raise

    async def _outcome(self, proxy: Proxy, workspace: Workspace, told: str, lines: Lines | None) -> Outcome:
        async with proxy.open() as variables:
            try:
                ended = await self._ended(told, lines, proxy, workspace, variables)
            finally:
                if proxy.troubles.unreachable:  # whatever the process made of it
                    raise TargetError("\n".join([proxy.troubles.unreachable[0], *workspace.printed]))
            outcome = _outcome(proxy.neutral(ended), self.argv)
            state = await proxy.state()
            if state and outcome.state is None:
                return Outcome(outcome.message, outcome.success, outcome.claims, state, outcome.refused)
            return outcome

    async def _ended(
        self, told: str, lines: Lines | None, proxy: Proxy, workspace: Workspace, variables: Mapping[str, str]
    ) -> str:
        """Return what the process has said when it ended well; put what its author should know into the workspace."""
        environment = {**os.environ, **workspace.variables, **variables}
        with contextlib.ExitStack() as open_files:
            # Files, and not pipes, which would be held open by whatever the process has started and left behind.
            said, complained = (open_files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            open_files.callback(lambda: workspace.note("stderr of the command", end_of(complained)))
            asked = workspace.folder / "stdin"
            typed = None if lines is None else PromptedLines(lines, asked, said)
            if typed is None:
                asked.write_text(told, "utf-8")
            else:
                open_files.callback(typed.close)
                open_files.callback(lambda: workspace.note("stdin", typed.remark))
            reading, writing = os.pipe()
            open_files.callback(os.close, writing)
            try:
                process = await self._started(environment, reading, str(asked), (said, complained))
            finally:
                os.close(reading)
            proxy.together.busy = AgentProcesses(process.pid).busy
            try:
                typing = None if typed is None else asyncio.ensure_future(typed.type(proxy.together.busy))
                code = await self._waited(process, proxy)
            finally:
                if typing is not None:
                    typing.cancel()
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            if code:
                complaint = proxy.neutral(_complaint(end_of(complained)))
                how = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
                raise CommandFailed(f"{how}{': ' if complaint else ''}{complaint}")
            return end_of(said) if typed is None else typed.transcript(end_of(said))

    async def _started(
        self, environment: Mapping[str, str], pipe: int, asked: str, files: tuple[IO[bytes], IO[bytes]]
    ) -> asyncio.subprocess.Process:
        folder = self.folder or Path.cwd()
        try:
            return await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", _GUARD, "sh", asked, *self.argv),
                stdin=pipe,
                stdout=files[0],
                stderr=files[1],
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(f"{shlex.join(self.argv)} cannot be started in {folder}: {error.strerror}.") from error

    async def _waited(self, process: asyncio.subprocess.Process, proxy: Proxy) -> int:
        """Return the exit code of a process that ended by itself and in time."""
        ending = asyncio.ensure_future(process.wait())
        over = asyncio.ensure_future(proxy.over.wait())
        try:
            await asyncio.wait([ending, over], timeout=self.seconds_max, return_when=asyncio.FIRST_COMPLETED)
            if over.done() and not ending.done():  # it is told so with its next answer, and may have something to say
                await asyncio.wait([ending], timeout=END_SECONDS)
        finally:
            over.cancel()
            ending.cancel()
        if ending.done() and not ending.cancelled():
            return ending.result()
        why = "the run is over" if proxy.over.is_set() else f"it did not end within {self.seconds_max:g} s"
        raise CommandFailed(why)


def command(
    argv: str | Sequence[str],
    *,
    models: Mapping[str, str | Callable[[Mapping[str, Any]], Any]] | None = None,
    services: Mapping[str, Service] | None = None,
    mcp: Mapping[str, McpServer] | None = None,
    tasks: Iterable[Task] = (),
    configs: Iterable[SystemConfig] = (),
    **options: Any,
) -> Target:
    """Make a target of a command.

    Args:
        argv: The program and its arguments; a text is split as a shell does it, but no shell runs it.
        models: URL of each model's API by name, or a function in its place: it takes a request and returns a text, or a
            mapping with `content` and `tool_calls` (mappings with `name` and `arguments`).
        services: The tools and services, by name.
        mcp: MCP servers, by name; needs the extra `mcp`.
        tasks: The task instances.
        configs: The configurations.
        options: `prompts`, `pure` and `together_seconds` as in `chaosagent.proxy.proxy.Backends`; `folder`,
            `environment`, `seconds_max` and `interactive` as in `Command`; `name`, `objective` and `secrets` as of
            `chaosagent.target`.

    Raises:
        MissingExtraError: The extra `proxy` is not installed, or `mcp`, if there are MCP servers.
        UsageError: There is no such option, the command is empty, or a URL or an operation is none.
        TargetError: Two tasks, configurations, models or services share a name.
    """
    require_server()
    words = tuple(shlex.split(argv)) if isinstance(argv, str) else tuple(argv)
    if not words:
        raise UsageError("command: it is empty. Write the program and its arguments, such as 'node agent.mjs'.")
    known = {
        "prompts",
        "pure",
        "together_seconds",
        "folder",
        "environment",
        "seconds_max",
        "interactive",
        "name",
        "objective",
        "secrets",
    }
    for name in options:
        if name not in known:
            raise UsageError(f"command({name}=...): there is no such option. Known: {', '.join(sorted(known))}.")
    of_behind = {name: options[name] for name in ("prompts", "pure", "together_seconds") if name in options}
    of_command = {name: options[name] for name in ("environment", "seconds_max", "interactive") if name in options}
    of_target = {name: options[name] for name in ("objective", "secrets") if name in options}
    folder = Path(options["folder"]).resolve() if options.get("folder") else None
    behind = Backends(dict(models or {}), dict(services or {}), dict(mcp or {}), **of_behind)
    program = Command(words, behind, folder, files=tuple(_files(words, folder)), **of_command)
    called = options.get("name") or Path(words[0]).name
    return target(name=called, tasks=tasks, configs=configs, clock="wall", **of_target)(program)


def _files(words: Iterable[str], folder: Path | None) -> Iterator[Path]:
    """Yield the files that a command names, relative ones in its folder."""
    for word in words:
        path = (folder or Path.cwd()) / word
        with contextlib.suppress(OSError, ValueError):  # a program that is given as an argument is no path
            if path.is_file():
                yield path.resolve()


def _complaint(text: str) -> str:
    """Return the line of stderr that says most: the last one that names an error, else the last one."""
    lines = [line for part in text.splitlines() if (line := part.strip(_RULED))]
    naming = [line for line in lines if "Error" in line or "Exception" in line or "error:" in line]
    return (naming or lines or [""])[-1][:COMPLAINT_MAX]


def _outcome(text: str, argv: Sequence[str]) -> Outcome:
    """Return the outcome that a process told.

    Raises:
        TargetError: Its last line is an object with the fields of an outcome, and one of them is of the wrong kind.
    """
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not _FIELDS.issuperset(found) or not found:
        return Outcome(text.strip())
    try:
        claims = tuple(_claim(claim) for claim in found.get("claims") or ())
    except (KeyError, TypeError, AttributeError) as error:
        raise TargetError(
            f"{shlex.join(argv)} told claims that are none: each is an object with `kind` and `identity`."
        ) from error
    state: Plain = found.get("state")
    return Outcome(found.get("message") or "", found.get("success"), claims, state, bool(found.get("refused")))


def _claim(claim: Mapping[str, Any]) -> Claim:
    return Claim(str(claim["kind"]), dict(claim["identity"]), str(claim.get("evidence", "")))
