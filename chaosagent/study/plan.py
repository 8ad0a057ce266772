"""What a study is to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chaosagent.canonical import Plain, digest_of
from chaosagent.contracts.contract import Contract, judges_outcome_only, sees_faults
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.run.frozen import Answers, AnswersInMemory
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Space
from chaosagent.faults.written_file import WrittenFile
from chaosagent.limits import RunLimits, StudyLimits
from chaosagent.study.searcher import DEFAULT_SEARCHER, Problem
from chaosagent.targets.target import Target
from chaosagent.vocabulary import SystemConfig, Task

OBJECTIVE = "objective"
ABREAST = 16
"""So many fresh runs of a schedule, worlds of it, or random schedules are run side by side: each tells nothing of the
others."""
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """How sure a study is to be of what it says about chance.

    Attributes:
        alpha: Probability that any counterexample of the study is none: that its violations are no likelier than
            without injections.
        beta: Probability that a counterexample is dropped although its violations are likelier by `difference`.
        difference: Between the probabilities of a violation with and without injections, from which on counterexamples
            are wanted.
        runs_max: Most fresh runs of one schedule; what is undecided by then is not confirmed.
    """

    alpha: float = 0.05
    beta: float = 0.05
    difference: float = 0.2
    runs_max: int = 200


class Shard(NamedTuple):
    """A part of a study.

    Attributes:
        number: From 1.
        of: How many parts there are.
    """

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return "" if self.of == 1 else f"{self.number}/{self.of}"


WHOLE = Shard()


@dataclass(frozen=True, slots=True)
class Plan:
    """One study: for each (task, seed, contract) the cheapest schedule that breaks it.

    Attributes:
        target: The system under test.
        target_reference: How another process finds it: a registered name, or `module:attribute`, or
            `file.py:attribute`.
        config: One of the target's configurations.
        tasks: Which of its tasks.
        seeds: Of the runs.
        contracts: What must hold; each hard one gets a search of its own.
        contract_specs: The same as plain data, as study files name them, so that another process can make them again.
        space: What may be injected where, and what it costs.
        budget: The B of `cost(δ) ≤ B`.
        searcher: Its registered name, or `module:attribute`.
        searcher_settings: Its own settings.
        lookahead: Trials in flight per search; part of what the result depends on, unlike the number of workers.
        speculate: Whether idle workers run ahead what searches will probably ask; `None`: where answers do not come by
            chance and time is virtual, as runs of other targets may cost money.
        seed: From which the searchers' random streams are derived.
        limits: Of each search.
        run_limits: Of each run.
        audit: How many pruned schedules are executed per certificate, as a check on the rules.
        stochastic: Whether answers come by chance and are frozen for the study; `None` to find out.
        all_minimal: Each search looks for every minimal counterexample within the budget, and not only for a cheapest.
        signatures: It does so until it knows counterexamples of that many signatures; `None` for no such end.
        confirmations: Most fresh runs of each counterexample of a stochastic target, from which P(violation | schedule)
            is estimated, and of the run without injections.
        alpha: Probability that any counterexample of a stochastic target is none; see `ErrorRates`.
        beta: Probability that one is dropped although it makes violations likelier by `difference`.
        difference: Between the probabilities of a violation with and without injections.
        answers: The file in which frozen answers are kept, for this process and all workers; what the result depends on
            are the answers, not the file.
        fresh: Each run has a process of its own.
        shard: Which part of the study is searched, and of how many: of the (task, seed) pairs in their order, every so
            many-th. No part of what the result of a search depends on.
        opened: Databases that the target has opened while it was loaded.
        allow: Patterns of what it may open outside of its doors without being told.
    """

    target: Target
    target_reference: str
    config: SystemConfig
    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]
    contracts: tuple[Contract, ...]
    space: Space
    contract_specs: tuple[Plain, ...] = ()
    budget: float = 3.0
    searcher: str = DEFAULT_SEARCHER
    searcher_settings: Mapping[str, Plain] = field(default_factory=dict)
    lookahead: int = 1
    speculate: bool | None = None
    seed: int = 0
    limits: StudyLimits = field(default_factory=StudyLimits)
    run_limits: RunLimits = field(default_factory=RunLimits)
    audit: int = 16
    stochastic: bool | None = None
    confirmations: int = 200
    alpha: float = 0.05
    beta: float = 0.05
    difference: float = 0.2
    all_minimal: bool = False
    signatures: int | None = None
    answers: Path | None = None
    fresh: bool = False
    opened: tuple[WrittenFile, ...] = ()
    allow: tuple[str, ...] = ()
    shard: Shard = WHOLE

    def workbench(self) -> Workbench:
        """Return a workbench of this process."""
        kept: Answers = AnswersInMemory() if self.answers is None else AnswersOnDisk(self.answers)
        return Workbench(self.target, self.config, self.contracts, self.run_limits, kept, self.fresh, self.opened)

    def problem(self, contract: Contract, monitor: int, seed: int) -> Problem:
        """Return what one search is about.

        Args:
            contract: What is to be broken.
            monitor: Place of the contract among the verdicts.
            seed: Of the runs.
        """
        return Problem(
            contract.id,
            monitor,
            self.space,
            self.budget,
            seed,
            self.seed,
            kinds_matter=sees_faults(contract),
            all_minimal=self.wants_several,
            outcome_only=judges_outcome_only(contract),
        )

    @property
    def searcher_module(self) -> str:
        """The module that holds a searcher named `module:attribute`, empty for a registered one."""
        return self.searcher.rpartition(":")[0]

    @property
    def wants_several(self) -> bool:
        """Whether a search goes on behind its cheapest counterexample."""
        return self.all_minimal or self.signatures is not None

    @property
    def rates(self) -> ErrorRates:
        """How sure to be of what is said about chance."""
        return ErrorRates(self.alpha, self.beta, self.difference, self.confirmations)

    @property
    def runs_digest(self) -> str:
        """The digest of everything that a run depends on, apart from its task, seed and schedule."""
        return digest_of(
            [
                self.target.name,
                self.config.digest,
                [
                    [contract.id, contract.severity.value, _ADDRESS.sub("", repr(contract))]
                    for contract in self.contracts
                ],
                self.contract_specs,
                self.space.reads_history,
                [self.run_limits, self.stochastic],
                *(["fresh"] if self.fresh else []),
            ]
        )

    @property
    def digest(self) -> str:
        """The digest of everything that the result depends on."""
        return digest_of(
            [
                self.runs_digest,
                [[task.id, task.input, task.labels] for task in self.tasks],
                self.seeds,
                self.space.digest,
                [self.budget, self.searcher, self.searcher_settings, self.lookahead, self.seed, self.audit],
                [self.limits.trials_max, self.confirmations, self.alpha, self.beta, self.difference],
                *([[self.all_minimal, self.signatures]] if self.wants_several else []),
            ]
        )
