"""One session of `chaosagent proxy`, from its options to its record."""

from __future__ import annotations

import contextlib
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
from chaosagent.errors import ChaosAgentError, TargetError, UsageError
from chaosagent.execution.answers_on_disk import AnswersOnDisk, repair_answers
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, conduct, make_run
from chaosagent.execution.run.live_run import LiveRun
from chaosagent.execution.run.recorder import Recorder
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.importable import make_importable
from chaosagent.limits import RunLimits
from chaosagent.proxy.bodies import BodyLimits
from chaosagent.proxy.proxy import Backends
from chaosagent.proxy.server import bound_socket, require_server
from chaosagent.proxy.service import Service
from chaosagent.proxy.session import NAME, REFERENCE, TASK, Session
from chaosagent.replays.journal import Journal
from chaosagent.replays.record import Proof, ReplayRecord
from chaosagent.replays.store import read_record
from chaosagent.study.counterexample import Signature
from chaosagent.trace.diff import Difference
from chaosagent.trace.step import Step
from chaosagent.trace.trace import ContractVerdict, Trace
from chaosagent.version import version
from chaosagent.vocabulary import Ending, Landing, Outcome, Severity, SystemConfig, Verdict

CONTRACT = "termination"
"""A record names a contract; a session is not about one."""

NO_FINDING = "a session of `chaosagent proxy`, not a finding"
STEPS_MAX = 1_000_000
MEGABYTE = 1_000_000
LINE_BYTES_MAX = 16_000_000
"""Bytes of a line of an MCP client over stdio, at most; see `chaosagent.adapters.mcp.relay`."""

GROWTH_MAX = 3
"""How many times as many bytes a body of JSON has at most when it crosses: a number such as 1e9 takes nine."""

_LINE_PAYLOAD = GROWTH_MAX * LINE_BYTES_MAX + MEGABYTE

CUT_OFF = "the session was cut off here: its process ended before it could say how the session ended"
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
    body_mb: float = 4.0
    total_mb: float = 256.0

    @property
    def body_limits(self) -> BodyLimits:
        """What one body may have."""
        return BodyLimits(bytes_max=int(self.body_mb * MEGABYTE))


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
        """Whether a replay said what the record says, and a session ended because somebody ended it."""
        cut_off = self.trace.ending is Ending.INCONCLUSIVE
        return DIVERGED if self.difference is not None or self.unasked or cut_off else HELD

    def text(self) -> str:
        """Tell it in some lines."""
        lines = [f"{len(self.trace.steps)} calls crossed, {len(self.landed)} injections landed"]
        if not self.landed and self.schedule.injections:
            lines.append(f"nothing of the schedule landed: {self.schedule.text}")
        if self.trace.ending is Ending.INCONCLUSIVE:
            lines.append(self.trace.ending_detail)
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


def serve_session(wish: ProxyOptions, tell: Callable[[str], None], announce: Callable[[str], None]) -> SessionEnd:
    """Serve until the session is ended, and return what came of it.

    Args:
        wish: What was asked for.
        tell: Is called with what is worth knowing meanwhile.
        announce: Is called with the lines that set the agent's variables in a shell, once they can be used.

    Raises:
        UsageError: A URL is none, the port is taken, the schedule cannot be read, two options exclude each other, or
            there is such a record already, or none can be written there.
        RecordError: The record to be replayed cannot be read.
        StoredDataError: The file of answers cannot be read.
        StudyError: The record can no longer be written; what was answered before stands in it.
    """
    require_server()
    schedule = parse(wish.schedule) if wish.schedule else EMPTY
    if wish.replay is not None and (wish.schedule or wish.memo or wish.record):
        raise UsageError("--replay answers as it was recorded; leave out --schedule, --memo and --record with it.")
    known = None if wish.replay is None else read_record(wish.replay)
    answers = None if wish.memo is None else _memo(wish.memo, tell)
    behind = _behind(wish)
    bound = bound_socket(wish.port)
    limits = wish.body_limits if known is None else _bodies_of(known)
    with contextlib.closing(bound):
        session = Session(behind, bound, lambda variables: _announce(variables, tell, announce), tell, limits)
        experiment = _experiment(session)
        if known is None:
            return _recorded(replace(experiment, answers=answers), schedule, wish, tell)
        served = serve(replace(experiment, task=known.task, seed=known.seed), known.trace, EMPTY)
        met = len(served.execution.trace.steps)
        return SessionEnd(served.execution.trace, EMPTY, None, served.difference, max(0, len(known.trace.steps) - met))


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
    return Experiment(session.target(), TASK, SystemConfig(), 0, default_contracts(), limits=_limits(session.limits))


def _limits(bodies: BodyLimits) -> RunLimits:
    """Return limits that neither a body nor a line within its own limit reaches: a payload above would end the session.

    They are a sum, and not the larger of two, so that a replay finds the limit of bodies in them.
    """
    payload = _LINE_PAYLOAD + GROWTH_MAX * bodies.bytes_max
    return RunLimits(steps_max=STEPS_MAX, wall_seconds_max=math.inf, payload_bytes_max=payload)


def _bodies_of(record: ReplayRecord) -> BodyLimits:
    """Return the limits of bodies that a session had, so that its replay refuses what the session has refused."""
    body = (record.limits.payload_bytes_max - _LINE_PAYLOAD) // GROWTH_MAX
    return BodyLimits(bytes_max=body) if body > 0 else BodyLimits()  # an earlier version had no such limit


def _recorded(
    experiment: Experiment, schedule: Schedule, wish: ProxyOptions, tell: Callable[[str], None]
) -> SessionEnd:
    """Hold a session; whatever is answered stands in the record before it is answered."""
    journal = None if wish.record is None else Journal(wish.record, _record(_cut_off(experiment), schedule, experiment))
    try:
        run = make_run(LiveRun, experiment, schedule)
        run.recorder.keep = _Keeper(run.recorder, journal, wish.total_mb, tell).keep
        trace = conduct(experiment, run, schedule).trace
        if journal is not None:
            journal.finish(_record(trace, schedule, experiment))
    except BaseException:
        if journal is not None and not journal.step_count:
            journal.discard()
        raise
    finally:
        if journal is not None:
            journal.close()
    return SessionEnd(trace, schedule, None if journal is None else journal.path)


class _Keeper:
    """Keeps each step of a session before its crossing is answered, and ends the session at its limit."""

    def __init__(
        self, recorder: Recorder, journal: Journal | None, megabytes_max: float, tell: Callable[[str], None]
    ) -> None:
        self._recorder, self._journal, self._tell = recorder, journal, tell
        self._megabytes_max, self._size = megabytes_max, 0

    def keep(self, step: Step) -> None:
        """Keep a step."""
        if self._journal is not None:
            try:
                self._journal.append(step)
            except ChaosAgentError as error:
                raise self._recorder.refuse(error) from error.__cause__
        self._size += len(step.request) + len(step.response)
        if self._size >= self._megabytes_max * MEGABYTE and not self._recorder.inconclusive:
            why = (
                f"the session has reached its limit of {self._megabytes_max:g} MB of requests and answers; the next "
                "call ends it. Start a new one, with a higher --total-mb if the memory allows it."
            )
            self._recorder.conclude(why)
            self._tell(f"chaosagent: {why}")


def _announce(variables: Mapping[str, str], tell: Callable[[str], None], announce: Callable[[str], None]) -> None:
    announce("\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items()))
    tell("chaosagent: the proxy listens; set these variables for the agent. Ctrl-C ends it.")


def _cut_off(experiment: Experiment) -> Trace:
    """Return the trace with which a record begins: no steps yet, and an end that says that the session was cut off."""
    verdicts = tuple(ContractVerdict(contract.id, Verdict.UNKNOWN, 0.0) for contract in experiment.contracts)
    config, seed = experiment.config.digest, experiment.seed
    return Trace(TASK.id, config, seed, (), Ending.INCONCLUSIVE, CUT_OFF, Outcome(""), verdicts)


def _record(trace: Trace, schedule: Schedule, experiment: Experiment) -> ReplayRecord:
    """Return the record of a session with some trace."""
    return ReplayRecord(
        target_reference=REFERENCE,
        target_name=NAME,
        task=TASK,
        config=experiment.config,
        seed=experiment.seed,
        contract=CONTRACT,
        contract_specs=tuple(contract.id for contract in experiment.contracts),
        limits=RunLimits(steps_max=STEPS_MAX, payload_bytes_max=experiment.limits.payload_bytes_max),
        schedule=schedule,
        cost=0.0,
        signature=Signature(CONTRACT, Severity.HARD, "end", "end", "none", ()),
        nominal=Nominal(trace.effects, trace.outcome),
        trace=trace,
        trace_digest=trace.digest,
        proof=Proof(certified=False, lower_bound=0.0, text=NO_FINDING, necessity=()),
        provenance={"chaosagent": version(), "searcher": "none: a session"},
    )
