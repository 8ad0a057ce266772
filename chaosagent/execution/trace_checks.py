"""Contracts on finished traces, such as those of production; nothing is executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chaosagent.contracts.contract import Contract, Looks, Nominal, Setting, needs_nominal, sees_faults
from chaosagent.contracts.custom import FunctionContract
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.templates.least_privilege import LeastPrivilege
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.contracts.templates.no_forbidden_values import NoForbiddenValues
from chaosagent.contracts.templates.no_leak import NoLeak
from chaosagent.contracts.templates.objective import Objective
from chaosagent.contracts.templates.ordering import Ordering
from chaosagent.contracts.templates.progress import Progress
from chaosagent.contracts.templates.promises_kept import PromisesKept
from chaosagent.contracts.templates.refusal_of_misuse import RefusalOfMisuse
from chaosagent.contracts.templates.role_boundary import RoleBoundary
from chaosagent.contracts.templates.supported_claims import SupportedClaims
from chaosagent.contracts.templates.termination import Termination
from chaosagent.contracts.temporal import Count as CountContract
from chaosagent.contracts.temporal import Never
from chaosagent.execution.judging import judge
from chaosagent.execution.run.recorder import Monitors
from chaosagent.trace.genai import ImportedRun, StepPlace
from chaosagent.trace.genai_content import ToolRules
from chaosagent.trace.otlp import SourcePlace
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import Labels, Severity, Task, Verdict

FINDINGS_MAX = 1_000
TOOLS_MAX = 10_000
COMPARES = "compares with the run without injections"
_CLAIMS = (PromisesKept, SupportedClaims)
_NO_ARGUMENTS = (Ordering, Progress, RoleBoundary)
"""Contracts that look at every step and need no arguments; `Ordering` does where it has `same`."""
_BY_PRESENCE = (
    AtMostOnce,
    CountContract,
    FunctionContract,
    LeastPrivilege,
    Never,
    NoForbiddenValues,
    NoLeak,
    RefusalOfMisuse,
    RoleBoundary,
)
"""Contracts that a step violates by what it is, whatever other steps are missing."""
_BY_THE_END = (NoCrash, NoLeak, Objective, Termination)
"""The same of the end of a run."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What traces are checked for.

    Attributes:
        contracts: Each once, in the order in which they are told.
        rules: What is known of tools.
        labels: What is known of all tasks.
        looks: Which steps each contract looks at.

    Raises:
        PluginError: A contract makes no monitor.
    """

    contracts: tuple[Contract, ...]
    rules: ToolRules = field(default_factory=ToolRules)
    labels: Labels = field(default_factory=Labels)
    looks: tuple[Looks, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", tuple(_looks(contract) for contract in self.contracts))


def _looks(contract: Contract) -> Looks:
    """Return which steps a contract looks at."""
    watch = Monitors([contract], Setting(Task("")))
    return Looks.EVERY_STEP if watch.of_every_step else Looks.EFFECTS if watch.of_effects else Looks.NEVER


class RunContext(NamedTuple):
    """What is known of a run besides its trace, as a replay record has it.

    Attributes:
        task: With its labels.
        nominal: What the run without injections did.
    """

    task: Task
    nominal: Nominal


class Finding(NamedTuple):
    """A violation, and where it is.

    Attributes:
        contract: Its id.
        severity: Of the contract.
        reason: One line for people.
        where: File and line; line 0 is the whole file.
        trace_id: Of the trace; empty for a record.
        span_id: Of the step; of the whole run when its end showed it; empty for a record.
        step: Index of the step, from 0; `None` when the end of the run showed it.
        hook: Of the step, such as `"service:refund[2]@desk"`; empty at the end.
        agent: Who acted.
        unfair: The task could not be done, as the contract's `requires` says.
    """

    contract: str
    severity: Severity
    reason: str
    where: SourcePlace
    trace_id: str
    span_id: str
    step: int | None
    hook: str
    agent: str
    unfair: bool


@dataclass(slots=True)
class Count:
    """How many traces a contract held, and so on.

    Attributes:
        holds: It holds.
        violated: It is violated.
        unfair: It is violated, and what it requires was not given.
        unknown: By reason, those that leave it open.
    """

    holds: int = 0
    violated: int = 0
    unfair: int = 0
    unknown: Counter[str] = field(default_factory=Counter)


class SuspectCount(NamedTuple):
    """Answers of one tool that look like errors and count as commits.

    Attributes:
        answer: The beginning of the first.
        rule: A condition that it matches, as a file has it.
        place: Where that was read.
        number: How many there are.
    """

    answer: str
    rule: str
    place: SourcePlace
    number: int = 0


@dataclass(slots=True)
class Tally:
    """What was found in all traces together.

    Attributes:
        checks: What was looked for.
        runs: Traces that were judged.
        steps: In all of them.
        unfinished: Traces whose end is not known.
        counts: By contract.
        findings: The first violations.
        findings_count: Of all violations.
        tools: How often tools of foreign traces were called.
        suspects: By tool, the first answer that looks like an error and counts as a commit, its place, and how many.
        lossy: Something could not be read, so spans of any trace may be missing.
    """

    checks: Checks
    runs: int = 0
    steps: int = 0
    unfinished: int = 0
    counts: dict[str, Count] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    findings_count: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    suspects: dict[str, SuspectCount] = field(default_factory=dict)
    lossy: bool = False

    def add(self, run: ImportedRun, case: RunContext | None = None) -> None:
        """Judge one more trace.

        Args:
            run: The trace.
            case: What is known besides; nothing for spans.

        Raises:
            PluginError: A contract raised something.
        """
        self.runs += 1
        self.steps += len(run.trace.steps)
        self.unfinished += bool(run.unfinished)
        for tool, number in run.tools.items() if run.foreign else ():
            if tool in self.tools or len(self.tools) < TOOLS_MAX:
                self.tools[tool] += number
        for answer, place in run.suspects:
            known = self.suspects.setdefault(answer.call, SuspectCount(answer.answer, answer.rule, place))
            self.suspects[answer.call] = known._replace(number=known.number + 1)
        for contract, verdict, why in verdicts_of(run, self.checks, case, lossy=self.lossy):
            self._count(contract, verdict, why, run)

    def _count(self, contract: Contract, verdict: ContractVerdict | None, why: str, run: ImportedRun) -> None:
        count = self.counts.setdefault(contract.id, Count())
        if verdict is None or why:
            count.unknown[why] += 1
        elif verdict.verdict is Verdict.VIOLATED:
            count.unfair += verdict.unfair
            count.violated += not verdict.unfair
            self.findings_count += 1
            if len(self.findings) < FINDINGS_MAX:
                self.findings.append(_finding(contract, verdict, run))
        else:
            count.holds += 1

    @property
    def violated(self) -> bool:
        """Whether a hard contract is violated, and fairly."""
        hard = {contract.id for contract in self.checks.contracts if contract.severity is Severity.HARD}
        return any(count.violated for name, count in self.counts.items() if name in hard)

    @property
    def judged(self) -> bool:
        """Whether anything could be said of any trace."""
        return any(count.holds or count.violated or count.unfair for count in self.counts.values())


def verdicts_of(
    run: ImportedRun, checks: Checks, case: RunContext | None = None, *, lossy: bool = False
) -> list[tuple[Contract, ContractVerdict | None, str]]:
    """Return for each contract its verdict, `None` where it cannot be judged, and why it is unknown.

    Args:
        run: The trace.
        checks: What it is checked for.
        case: What is known besides.
        lossy: Spans of it may be missing, whatever it looks like.

    Raises:
        PluginError: A contract raised something.
    """
    task = Task(run.trace.task_id, labels=checks.labels) if case is None else case.task
    nominal = Nominal() if case is None else case.nominal
    reasons = [_not_judged(contract, run, task.labels, known=case is not None) for contract in checks.contracts]
    judged = [contract for contract, reason in zip(checks.contracts, reasons, strict=True) if not reason]
    verdicts = iter(judge(run.trace, judged, task, nominal, ended=not run.unfinished))
    found: list[tuple[Contract, ContractVerdict | None, str]] = []
    for contract, looks, reason in zip(checks.contracts, checks.looks, reasons, strict=True):
        verdict = None if reason else next(verdicts)
        if verdict is not None and verdict.violation is not None:
            reason = _doubt_of_violation(contract, verdict.violation, run, lossy=lossy and case is None)
        elif verdict is not None:
            reason = _doubt(contract, looks, verdict, run, checks)
        found.append((contract, verdict, reason))
    return found


def _not_judged(contract: Contract, run: ImportedRun, labels: Labels, *, known: bool) -> str:
    """Return why a contract can say nothing of a trace, empty when it can."""
    if not known and needs_nominal(contract):
        return COMPARES
    if run.foreign and sees_faults(contract):
        return "looks at injections, and there are none in these traces"
    if run.foreign and isinstance(contract, _CLAIMS):
        return "looks at what the final message claims, which these traces do not tell"
    if isinstance(contract, NoLeak) and not contract.patterns and not labels.canaries:
        return "there are no `canaries` and no `patterns` to look for"
    if isinstance(contract, NoForbiddenValues) and not labels.forbidden:
        return "there are no `forbidden` values to look for"
    if isinstance(contract, RefusalOfMisuse) and not labels.misuse:
        return "no task is labelled as misuse"
    return ""


def _doubt_of_violation(contract: Contract, violation: Violation, run: ImportedRun, *, lossy: bool) -> str:
    """Return why a violation is not proved, empty when it is."""
    gaps, steps = run.gaps, run.trace.steps
    at_end = violation.step >= len(steps)
    if gaps.contents and isinstance(contract, Progress):
        return "requests or answers were not recorded, so new ones cannot be told from old ones"
    if gaps.arguments and _needs_same(contract):
        return _not_recorded(gaps.arguments)
    if gaps.contents and not at_end and not isinstance(contract, _NO_ARGUMENTS):
        step = steps[violation.step]
        if not step.arguments:
            return _not_recorded(step.interface)
    if (lossy or run.unfinished) and not isinstance(contract, _BY_THE_END if at_end else _BY_PRESENCE):
        return f"{run.unfinished or 'spans could not be read'}; what is missing may be what it waits for"
    return ""


def _doubt(contract: Contract, looks: Looks, verdict: ContractVerdict, run: ImportedRun, checks: Checks) -> str:
    """Return why a contract that is not violated does not hold either, empty when it does."""
    gaps = run.gaps
    if run.unfinished:
        return run.unfinished
    if looks is Looks.EFFECTS and gaps.effects:
        return f"{gaps.effects} not recorded"
    if looks is Looks.EFFECTS and run.foreign and _is_undeclared(run, checks.rules):
        return "nothing is said of what these tools commit: name them in `effects`, or in `read_only`"
    if (
        looks is Looks.EVERY_STEP
        and gaps.arguments
        and (_needs_same(contract) or not isinstance(contract, _NO_ARGUMENTS))
    ):
        return _not_recorded(gaps.arguments)
    if isinstance(contract, NoLeak) and gaps.final_message:
        return "the final message was not recorded"
    return "the contract itself cannot tell" if verdict.verdict is Verdict.UNKNOWN else ""


def _needs_same(contract: Contract) -> bool:
    """Whether a contract compares arguments of steps."""
    same: object = getattr(contract, "same", None)
    return bool(same)


def _is_undeclared(run: ImportedRun, rules: ToolRules) -> bool:
    """Whether nothing is known of the effects of a run: its tools are neither declared nor read-only."""
    return rules.effects.keys().isdisjoint(run.tools) and not rules.read_only.issuperset(run.tools)


def _not_recorded(tool: str) -> str:
    return f"arguments of {tool:.80} were not recorded"


def _finding(contract: Contract, verdict: ContractVerdict, run: ImportedRun) -> Finding:
    violation = verdict.violation
    assert violation is not None
    at_end = violation.step >= len(run.trace.steps)
    place: StepPlace = run.end_place if at_end else run.places[violation.step]
    return Finding(
        contract.id,
        contract.severity,
        violation.reason,
        place.place,
        run.trace_id,
        place.span_id,
        None if at_end else violation.step,
        "" if at_end else run.trace.steps[violation.step].hook,
        violation.agent,
        verdict.unfair,
    )


def uncounted_tools(tally: Tally) -> Sequence[str]:
    """Return the tools of which nobody says whether they commit anything, those called most first."""
    rules = tally.checks.rules
    return [tool for tool, _ in tally.tools.most_common() if tool not in rules.effects and tool not in rules.read_only]
