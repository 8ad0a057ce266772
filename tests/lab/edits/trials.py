"""One trial: a record of a random agent, an edit of the agent, and whether the replay says what is right."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Nominal
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.injection import hook_at, inject
from chaosagent.faults.operator import Operator
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.operators.service.lost_response import LostResponse
from chaosagent.operators.service.timeout import Timeout
from chaosagent.replays.declarations import declarations_of
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.record import Proof, ReplayRecord, nominal_run_in
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.study.counterexample import signature_of
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Target
from chaosagent.vocabulary import Ending, Severity
from tests.lab.edits.agents import LIMIT, READS, Agent, most_often, random_agent, target_of
from tests.lab.edits.edits import KINDS, Kind

OWN = "tests.lab.edits.agents:done_once"
SPECS: tuple[Plain, ...] = ("at-most-once", "no-extra-effects", "no-crash", "termination", OWN)
OPERATORS: tuple[Operator, ...] = (LostResponse(when="after"), Timeout(when="after", seconds=30.0))


@dataclass(frozen=True)
class Trial:
    """What came of one pair.

    Attributes:
        number: From which it follows.
        kind: Of the edit.
        agent: Before the edit.
        edited: After it.
        record: Of what was wrong.
        replay: What the replay says.
        is_fixed: By brute force, nothing is done twice under the same faults at any calls.
    """

    number: int
    kind: Kind
    agent: Agent
    edited: Agent
    record: ReplayRecord
    replay: Replay
    is_fixed: bool

    @property
    def is_false_held(self) -> bool:
        """Whether HELD was said of what is not fixed, or asks for a review."""
        is_held = self.replay.outcome is ReplayOutcome.HELD
        is_right = ReplayOutcome.HELD in self.kind.expected and (self.is_fixed or self.kind.is_partial)
        return is_held and not is_right

    @property
    def is_right(self) -> bool:
        """Whether the outcome is one that is right for the kind of edit."""
        return self.replay.outcome in self.kind.expected and not self.is_false_held


def trial(number: int) -> Trial:
    """Make a pair, and replay the record of the one in the other."""
    rng = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    agent = random_agent(rng)
    contract = "done-once" if kind.is_loosened or rng.random() < 0.3 else "at-most-once"
    if kind.name.startswith("effects declared"):
        contract = "at-most-once"
    record = record_of(agent, contract, rng.choice(OPERATORS), is_declared=rng.random() < 0.6)
    edited = kind.edit(agent, rng)
    with _loosened(is_loosened=kind.is_loosened):
        replay = rerun_schedule(record, target_of(edited))
    return Trial(number, kind, agent, edited, record, replay, is_fixed(edited, record))


@contextmanager
def _loosened(*, is_loosened: bool) -> Iterator[None]:
    LIMIT["done-once"] = 99 if is_loosened else 1
    try:
        yield
    finally:
        LIMIT["done-once"] = 1


def record_of(agent: Agent, contract: str, operator: Operator, *, is_declared: bool) -> ReplayRecord:
    """Return the record of a cheapest way to break a contract; of an earlier version where nothing is declared."""
    system = target_of(agent)
    experiment, undisturbed = _experiment(system)
    found, execution = next(
        (faults, run)
        for faults, run in _runs(experiment, undisturbed, operator, 2)
        if violates(run.evaluation, contract) and len(run.evaluation.effective) == len(faults)
    )
    trace = execution.trace
    assert experiment.nominal is not None
    return ReplayRecord(
        target_reference="agent",
        target_name="agent",
        task=experiment.task,
        config=experiment.config,
        seed=0,
        contract=contract,
        contract_specs=SPECS,
        limits=experiment.limits,
        schedule=found,
        cost=1.1 * len(found),
        signature=signature_of(trace, contract, Severity.HARD, found),
        nominal=experiment.nominal,
        trace=trace,
        trace_digest=trace.digest,
        proof=Proof(certified=True, lower_bound=1.1, text="", necessity=()),
        undisturbed=nominal_run_in(undisturbed.trace) if is_declared else None,
        declarations=declarations_of(experiment.contracts, undisturbed.doors) if is_declared else None,
    )


def is_fixed(agent: Agent, record: ReplayRecord) -> bool:
    """Whether the world does nothing twice, and every run finishes, whichever calls the faults of a record meet.

    What crashes where one of its reads fails did so before, and is another matter.
    """
    experiment, undisturbed = _experiment(target_of(agent))
    operator = next(iter(record.schedule)).operator
    runs = itertools.chain([(EMPTY, undisturbed)], _runs(experiment, undisturbed, operator, len(record.schedule)))
    return all(_does_no_harm(run) for _, run in runs)


def _does_no_harm(execution: Execution) -> bool:
    reads = {operation for _, operation in READS}
    failed = {step.operation.rpartition("_")[2] for step in execution.trace.steps if step.landed is not None}
    if failed & reads:
        return most_often(execution.trace.outcome.state) <= 1
    return execution.trace.ending is Ending.FINISHED and most_often(execution.trace.outcome.state) <= 1


def _experiment(system: Target) -> tuple[Experiment, Execution]:
    contracts = tuple(parse_contract(spec) for spec in SPECS)
    bare = Experiment(system, system.task("do"), system.config("default"), 0, contracts)
    undisturbed = execute(bare, EMPTY)
    trace = undisturbed.trace
    return replace(bare, nominal=Nominal(trace.effects, trace.outcome)), undisturbed


def _runs(
    experiment: Experiment, base: Execution, operator: Operator, count_max: int
) -> Iterator[tuple[Schedule, Execution]]:
    """Yield all runs with up to so many faults, those with fewer first."""
    layer = [(EMPTY, base)]
    for _ in range(count_max):
        following = []
        for faults, run in layer:
            taken = {injection.place for injection in faults}
            for crossing in run.evaluation.crossings:
                if crossing.place not in taken:
                    more = schedule([*faults, inject(hook_at(crossing.place), operator)])
                    following.append((more, execute(experiment, more)))
        yield from following
        layer = following
