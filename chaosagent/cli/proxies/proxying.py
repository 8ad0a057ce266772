"""One session of `chaosagent proxy`, from its options to its record."""

from __future__ import annotations

import math
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from chaosagent.adapters.command_file import model_of, service_of
from chaosagent.adapters.mcp.server import McpServer
from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Nominal
from chaosagent.errors import TargetError, UsageError
from chaosagent.execution.answers_on_disk import AnswersOnDisk, repair_answers
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, conduct, make_run
from chaosagent.execution.run.live_run import LiveRun
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.importable import make_importable
from chaosagent.limits import RunLimits
from chaosagent.proxy.proxy import Backends
from chaosagent.proxy.server import bound_socket, require_server
from chaosagent.proxy.service import Service
from chaosagent.proxy.session import NAME, REFERENCE, TASK, Session
from chaosagent.replays.record import Proof, ReplayRecord
from chaosagent.replays.store import SUFFIX, read_record, write_record
from chaosagent.study.counterexample import Signature
from chaosagent.trace.diff import Difference
from chaosagent.trace.trace import Trace
from chaosagent.version import version
from chaosagent.vocabulary import Landing, Severity, SystemConfig

CONTRACT = "termination"
"""A record names a contract; a session is not about one."""

NO_FINDING = "a session of `chaosagent proxy`, not a finding"
STEPS_MAX = 1_000_000
HELD, DIVERGED = 0, 3


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What was asked for on the command line; see `chaosagent.cli.proxies.proxy`."""

    models: Mapping[str, str]
    services: Mapping[str, str]
    mcp: Mapping[str, str]
    schedule: str = ""
    record: Path | None = None
    replay: Path | None = None
    memo: Path | None = None
    prompts: bool = False
    port: int = 0


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """What became of a session.

    Attributes:
        trace: All that was asked and answered.
        schedule: What was to be injected.
        record: Where it was stored, if it was.
        difference: With --replay: the first request that the record does not have.
        unasked: With --replay: how many of its steps the agent did not come to.
    """

    trace: Trace
    schedule: Schedule
    record: Path | None = None
    difference: Difference | None = None
    unasked: int = 0

    @property
    def landed(self) -> list[str]:
        """The injections that landed, as text, in the order of their steps."""
        steps = self.trace.steps
        return [step.landed.injection for step in steps if step.landed and step.landed.landing is Landing.LANDED]

    @property
    def exit_code(self) -> int:
        """Whether a replay said what the record says."""
        return DIVERGED if self.difference is not None or self.unasked else HELD

    def text(self) -> str:
        """Tell it in some lines."""
        lines = [f"{len(self.trace.steps)} calls crossed, {len(self.landed)} injections landed"]
        if not self.landed and self.schedule.injections:
            lines.append(f"nothing of the schedule landed: {self.schedule.text}")
        if self.difference is not None:
            lines.append(f"DIVERGED: {self.difference}")
        elif self.unasked:
            lines.append(f"DIVERGED: the agent did not ask for {self.unasked} of the steps that the record has")
        if self.record is not None:
            lines.append(f"recorded in {self.record}; `chaosagent proxy --replay {self.record}` answers from it")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Plain]:
        """Return it as data."""
        return {
            "calls": len(self.trace.steps),
            "landed": [*self.landed],
            "schedule": self.schedule.text,
            "record": None if self.record is None else str(self.record),
            "difference": None if self.difference is None else str(self.difference),
            "unasked": self.unasked,
            "digest": self.trace.digest,
        }


def serve_session(wish: ProxyOptions, tell: Callable[[str], None]) -> SessionEnd:
    """Serve until the session is ended, and return what came of it.

    Args:
        wish: What was asked for.
        tell: Is called with what is worth knowing meanwhile.

    Raises:
        UsageError: A URL is none, the port is taken, the schedule cannot be read, or two options exclude each other.
        RecordError: The record to be replayed cannot be read.
        StoredDataError: The file of answers cannot be read.
    """
    require_server()
    schedule = parse(wish.schedule) if wish.schedule else EMPTY
    if wish.replay is not None and (wish.schedule or wish.memo or wish.record):
        raise UsageError("--replay answers as it was recorded; leave out --schedule, --memo and --record with it.")
    known = None if wish.replay is None else read_record(wish.replay)
    answers = None if wish.memo is None else _memo(wish.memo, tell)
    behind = _behind(wish)
    if wish.record is not None and wish.record.suffix != SUFFIX and wish.record.is_file():
        raise UsageError(f"--record {wish.record}: it is a file. Name a folder, or a file *{SUFFIX}.")
    bound = bound_socket(wish.port)
    session = Session(behind, bound, lambda variables: _announce(variables, tell), tell)
    experiment = _experiment(session)
    if known is not None:
        served = serve(replace(experiment, task=known.task, seed=known.seed), known.trace, EMPTY)
        met = len(served.execution.trace.steps)
        return SessionEnd(served.execution.trace, EMPTY, None, served.difference, max(0, len(known.trace.steps) - met))
    execution = _conducted(replace(experiment, answers=answers), schedule)
    written = None if wish.record is None else _written(wish.record, execution, schedule)
    return SessionEnd(execution.trace, schedule, written)


def _memo(path: Path, tell: Callable[[str], None]) -> AnswersOnDisk:
    """Return the answers in a file; damaged ones are taken out of it, so that they are asked for again."""
    mended = repair_answers(path, "Delete it, or name another file with --memo; what it held is asked again then.")
    if mended is not None:
        tell(f"chaosagent: {mended}")
    return AnswersOnDisk(path)


def _behind(wish: ProxyOptions) -> Backends:
    here = Path.cwd()
    make_importable(here)
    models = {name: model_of(place, here, f"--upstream {name}") for name, place in wish.models.items()}
    services = {name: Service(service_of(place, here, f"--service {name}")) for name, place in wish.services.items()}
    try:
        return Backends(models, services, _mcp_servers(wish), prompts=wish.prompts)
    except TargetError as error:  # of names: here they are the caller's
        raise UsageError(str(error)) from error


def _mcp_servers(wish: ProxyOptions) -> dict[str, McpServer]:
    """Return the MCP servers; nothing is started before somebody asks one, so a program that is not there is told now.

    Raises:
        UsageError: There is no such program.
    """
    servers = {name: McpServer(place) for name, place in wish.mcp.items()}
    for name, server in servers.items():
        server.check(name)
        if not server.has_url and wish.replay is None and shutil.which(server.words[0]) is None:
            raise UsageError(
                f"--mcp {name}={server.server!r}: there is no program {server.words[0]!r}. Write the command that "
                "starts the server, or a URL that begins with http:// or https://."
            )
    return servers


def _experiment(session: Session) -> Experiment:
    limits = RunLimits(steps_max=STEPS_MAX, wall_seconds_max=math.inf)
    return Experiment(session.target(), TASK, SystemConfig(), 0, default_contracts(), limits=limits)


def _conducted(experiment: Experiment, schedule: Schedule) -> Execution:
    return conduct(experiment, make_run(LiveRun, experiment, schedule), schedule)


def _announce(variables: Mapping[str, str], tell: Callable[[str], None]) -> None:
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    tell("\n".join(["the proxy listens; for the agent:", "", *lines, "", "Ctrl-C ends it."]))


def _written(place: Path, execution: Execution, schedule: Schedule) -> Path:
    """Store what happened in a session."""
    trace = execution.trace
    record = ReplayRecord(
        target_reference=REFERENCE,
        target_name=NAME,
        task=TASK,
        config=SystemConfig(),
        seed=0,
        contract=CONTRACT,
        contract_specs=tuple(contract.id for contract in default_contracts()),
        limits=RunLimits(steps_max=STEPS_MAX),
        schedule=schedule,
        cost=0.0,
        signature=Signature(CONTRACT, Severity.HARD, "end", "end", "none", ()),
        nominal=Nominal(trace.effects, trace.outcome),
        trace=trace,
        trace_digest=trace.digest,
        proof=Proof(certified=False, lower_bound=0.0, text=NO_FINDING, necessity=()),
        provenance={"chaosagent": version(), "searcher": "none: a session"},
    )
    if place.suffix != SUFFIX:
        return write_record(place, record)
    return write_record(place.parent, record).replace(place)
