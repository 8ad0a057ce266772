"""Today's target as the record of a counterexample meets it: its run without faults, and how its runs are judged."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from chaosagent.canonical import digest_of, pack
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.contracts.templates.termination import Termination
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.judging import judge
from chaosagent.execution.real_time import limited_real_time
from chaosagent.execution.workers.own_process import in_own_process
from chaosagent.faults.schedule import EMPTY
from chaosagent.replays.changes import Change, compared_nominal, is_same_nominal
from chaosagent.replays.declarations import Declaration, declarations_of
from chaosagent.replays.placements import Harm, JudgedRun
from chaosagent.replays.record import ReplayRecord, digest_of_steps
from chaosagent.study.counterexample import signature_of
from chaosagent.targets.target import Target
from chaosagent.trace.trace import ContractVerdict, Trace
from chaosagent.vocabulary import Ending, Severity, SystemConfig, Verdict

CONTRACT_REMEDY = "Give the contract its old name and place, or search again for records with today's contracts."


@dataclass(frozen=True, slots=True)
class Today:
    """Today's target with its run without faults.

    Attributes:
        experiment: Target, task, configuration, seed and contracts, compared with that run.
        undisturbed: That run.
        digest: Of the steps of that run.
        declarations: What it declares.
        interfaces: Of the doors that this run has opened.
    """

    experiment: Experiment
    undisturbed: Execution
    digest: str
    declarations: tuple[Declaration, ...]
    interfaces: frozenset[str]


class NominalRuns:
    """Makes the run without faults once for all records of a target, task, configuration and seed."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], Today] = {}

    def of(self, bare: Experiment, record: ReplayRecord) -> Today:
        """Return today's target for a record.

        Args:
            bare: Not compared with anything yet; its contracts are those of the record.
            record: The stored counterexample.

        Raises:
            ChaosAgentError: The run cannot be made.
        """
        key = id(bare.target), pack([bare.task, bare.config.digest, str(bare.seed), bare.limits, record.contract_specs])
        known = self._known.get(key) if bare.answers is None else None
        if known is None:
            known = self._known[key] = today_of(bare)  # which keeps the target, so that its id stays its own
        return known


def today_of(bare: Experiment) -> Today:
    """Return today's target with its run without faults, which is made.

    Raises:
        ChaosAgentError: It cannot be made, or took longer than its limit of real time.
    """
    with limited_real_time(bare.target, bare.limits):
        execution, declared, interfaces = (
            in_own_process(lambda: _without_doors(_undisturbed(bare))) if bare.target.fresh else _undisturbed(bare)
        )
    nominal = Nominal(execution.trace.effects, execution.trace.outcome)
    return Today(replace(bare, nominal=nominal), execution, digest_of_steps(execution.trace), declared, interfaces)


_Undisturbed: TypeAlias = "tuple[Execution, tuple[Declaration, ...], frozenset[str]]"


def _undisturbed(bare: Experiment) -> _Undisturbed:
    execution = execute(bare, EMPTY)
    declared = declarations_of(bare.contracts, execution.doors, bare.target.objective)
    return execution, declared, frozenset(execution.doors)


def _without_doors(run: _Undisturbed) -> _Undisturbed:
    """Drop the functions that doors declare: they cannot be pickled."""
    execution, declared, interfaces = run
    return replace(execution, doors={}), declared, interfaces


def bare_experiment(record: ReplayRecord, target: Target, config: SystemConfig) -> Experiment:
    """Return a record's task and seed in today's target."""
    task = target.tasks.get(record.task.id, record.task)
    return Experiment(target, task, config, record.seed, contracts_of(record), None, record.limits)


def contracts_of(record: ReplayRecord) -> tuple[Contract, ...]:
    """Return the contracts that a record names, as they are today.

    Raises:
        UsageError: There is no such contract any more.
    """
    try:
        return tuple(parse_contract(entry, "record.contract_specs") for entry in record.contract_specs)
    except UsageError as error:
        raise UsageError(f"{error} {CONTRACT_REMEDY}") from error


class Judge:
    """Judges runs of today's target for a record.

    A run is compared with today's run without faults and with the record's, and breaks the contract if it does so
    against either.

    Args:
        record: The stored counterexample.
        contract: Of the record, as it is today.
        today: Today's target.
    """

    def __init__(self, record: ReplayRecord, contract: Contract, today: Today) -> None:
        self._record, self._contract, self._today = record, contract, today
        own = today.experiment.nominal
        compared = compared_nominal(record, today.undisturbed.trace)
        self._compared = None if own is not None and is_same_nominal(own, compared) else compared
        self._endings = {Ending.FINISHED, record.trace.ending, today.undisturbed.trace.ending}
        self._lively = [one for one in today.experiment.contracts if isinstance(one, NoCrash | Termination)]

    def undisturbed(self) -> tuple[Trace, ContractVerdict]:
        """Return today's run without faults, and what the contract says of it, compared with the record's."""
        trace = self._today.undisturbed.trace
        verdict = self._worst(trace, trace.verdict(self._contract.id))
        return replace(trace, verdicts=tuple(_with(verdict, trace.verdicts))), verdict

    def __call__(self, execution: Execution) -> JudgedRun:
        """Return what a run does."""
        trace = execution.trace
        verdict = self._worst(trace, trace.verdict(self._contract.id))
        is_finished = trace.ending in self._endings
        if is_broken(verdict):
            trace = replace(trace, verdicts=tuple(_with(verdict, trace.verdicts)))
            is_same = self._has_same_signature(trace)
            return JudgedRun(replace(execution, trace=trace), Harm.VIOLATED, is_same, is_finished)
        if self.unlively(trace):
            return JudgedRun(execution, Harm.UNLIVELY)
        if not is_finished and trace.ending is not Ending.INCONCLUSIVE:
            return JudgedRun(execution, Harm.UNFINISHED)
        is_clear = verdict.verdict is Verdict.HOLDS and not verdict.unfair
        return JudgedRun(execution, Harm.NONE if is_clear else Harm.UNCLEAR)

    def unlively(self, trace: Trace) -> str:
        """Return the contract on coming to an end that a run breaks and the record's kept, empty if there is none."""
        recorded = {verdict.contract for verdict in self._record.trace.verdicts if verdict.verdict is Verdict.VIOLATED}
        for contract in self._lively:
            if contract.id not in recorded and is_broken(trace.verdict(contract.id)):
                return contract.id
        return ""

    def violated_too(self, trace: Trace) -> tuple[str, ...]:
        """Return which other contracts a run violates, a sentence each."""
        newly = self._newly_broken(trace)
        apart = {self._contract.id, "objective", *newly}
        others = (one.contract for one in trace.verdicts if one.verdict is Verdict.VIOLATED)
        told = [f"{name} is violated, too" for name in others if name not in apart]
        return (*told, *(broken_too(trace.verdict(name)).text for name in newly))

    def newly_broken(self, trace: Trace, accepted: Container[str]) -> tuple[Change, ...]:
        """Return the hard contracts that a run violates, the record's run kept and nobody has reviewed."""
        changes = (broken_too(trace.verdict(name)) for name in self._newly_broken(trace))
        return tuple(change for change in changes if change.digest not in accepted)

    def _newly_broken(self, trace: Trace) -> list[str]:
        kept = {one.contract for one in self._record.trace.verdicts if one.verdict is Verdict.HOLDS}
        hard = {one.id for one in self._today.experiment.contracts if one.severity is Severity.HARD}
        names = kept & hard - {self._contract.id, "objective"}
        return [one.contract for one in trace.verdicts if is_broken(one) and one.contract in names]

    def _has_same_signature(self, trace: Trace) -> bool:
        signature = signature_of(trace, self._contract.id, self._contract.severity, self._record.schedule)
        return signature == self._record.signature

    def _worst(self, trace: Trace, verdict: ContractVerdict) -> ContractVerdict:
        if is_broken(verdict) or self._compared is None:
            return verdict
        settings, task = self._today.experiment.config.settings, self._today.experiment.task
        (other,) = judge(trace, [self._contract], task, self._compared, settings=settings)
        return other if is_broken(other) else verdict


def broken_too(verdict: ContractVerdict) -> Change:
    """Return that a run violates a contract that the record's run has kept; for another reason it is another change."""
    reason = "" if verdict.violation is None else verdict.violation.reason
    text = f"{verdict.contract} is violated, which the record's run has kept"
    return Change("violation", text, digest_of(["violation", verdict.contract, reason]))


def is_broken(verdict: ContractVerdict) -> bool:
    """Whether a contract is violated, and fairly."""
    return verdict.verdict is Verdict.VIOLATED and not verdict.unfair


def _with(verdict: ContractVerdict, verdicts: Iterable[ContractVerdict]) -> list[ContractVerdict]:
    return [verdict if one.contract == verdict.contract else one for one in verdicts]
