"""Groups counterexamples into causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import Nominal
from chaosagent.faults.schedule import Schedule
from chaosagent.replays.record import ReplayRecord
from chaosagent.report.causes.calls import END, Calls, calls_in_trace, first_difference
from chaosagent.report.causes.headline import headline_of
from chaosagent.report.causes.pattern import Pattern
from chaosagent.report.causes.recognition import pattern_in
from chaosagent.report.weaknesses import rank_of
from chaosagent.study.counterexample import Counterexample
from chaosagent.trace.trace import Trace

HOOKS_MAX = 8
"""Up to so many hooks, it is faster to look their subsets up than to go through all groups."""


class Finding(NamedTuple):
    """What causes are made of: a counterexample of a study, or the record of one.

    Attributes:
        id: Of the counterexample.
        task_id: Of the task.
        seed: Of the run.
        contract: That it breaks.
        schedule: Its injections, each at one place.
        cost: Of the schedule.
        trace: Of the run.
        nominal: What the run without faults committed and handed back.
        calls: Of the run without faults; `None` where they are not known.
    """

    id: str
    task_id: str
    seed: int
    contract: str
    schedule: Schedule
    cost: float
    trace: Trace
    nominal: Nominal
    calls: Calls | None

    @property
    def hooks(self) -> frozenset[str]:
        """Where its injections are."""
        return frozenset(str(injection.hook) for injection in self.schedule)

    @property
    def differs_at(self) -> str:
        """The hook of the first step that differs from the run without faults; `END` where none does."""
        step = first_difference(self.trace, self.calls)
        return END if step is None else step.hook


@dataclass(frozen=True, slots=True)
class Cause:
    """Counterexamples with a set of hooks in common, that first differ from the run without faults at the same hook.

    Attributes:
        hooks: Of the lead; each of the others has them, too, and may have more.
        differs_at: The hook of the first step that differs; `"end"` where none does.
        findings: The counterexamples; the first is the lead, a cheapest one.
        headline: What the lead did to the world, in a line; the target's words may be in it.
        others: What other runs of it did that did something else, a line each, and how many runs did so. A run that
            breaks several contracts counts once, for the most harmful.
        pattern: The known pattern that the trace of one of them shows that has the lead's schedule; `None` for none.
    """

    hooks: frozenset[str]
    differs_at: str
    findings: tuple[Finding, ...]
    headline: str = field(compare=False)
    others: tuple[tuple[str, int], ...] = field(compare=False)
    pattern: Pattern | None = field(compare=False)

    @property
    def lead(self) -> Finding:
        """A cheapest counterexample."""
        return self.findings[0]

    @property
    def contracts(self) -> tuple[str, ...]:
        """What is broken, the most harmful first."""
        broken = {found.contract for found in self.findings}
        return tuple(sorted(broken, key=lambda contract: (rank_of(contract), contract)))

    @property
    def tasks(self) -> tuple[str, ...]:
        """In which tasks it shows, sorted."""
        return tuple(sorted({found.task_id for found in self.findings}))


def finding_of(found: Counterexample, *, has_secrets: bool) -> Finding:
    """Return a counterexample of a study as causes need it.

    Args:
        found: The counterexample.
        has_secrets: The target declares secrets, so the folder of the study keeps nothing of its other runs; the study
            itself then uses no more either, so that both name the same causes.
    """
    run = None if has_secrets else found.undisturbed
    return Finding(
        found.id,
        found.task_id,
        found.seed,
        found.contract,
        found.schedule,
        found.cost,
        found.trace,
        found.nominal,
        None if run is None else calls_in_trace(run.trace),
    )


def finding_in(record: ReplayRecord, calls: Calls | None) -> Finding:
    """Return a stored counterexample as causes need it.

    Args:
        record: Of the counterexample.
        calls: Of the run without faults; `None` where they are not known.
    """
    return Finding(
        record.id,
        record.task.id,
        record.seed,
        record.contract,
        record.schedule,
        record.cost,
        record.trace,
        record.nominal,
        calls,
    )


def causes_of(findings: Iterable[Finding]) -> list[Cause]:
    """Group counterexamples into causes, cheapest first; each is in exactly one.

    They are taken by cost, number of hooks, harm of the contract, and task. One joins the first group that first
    differs from the run without faults at the same hook, and whose hooks are all among its own; else it opens a
    group. Contracts play no part, as one mistake breaks several; nor does the number of the step, as one mistake
    shows at another step in another task.

    Determinism: depends on the set of counterexamples and not on their order.
    """
    groups: list[list[Finding]] = []
    numbers: dict[tuple[str, frozenset[str]], int] = {}  # of the groups, by what makes them: no two have the same
    for found in sorted(findings, key=_order):
        at, hooks = found.differs_at, found.hooks
        number = _first_group(numbers, at, hooks)
        if number is None:
            numbers[at, hooks] = len(groups)
            groups.append([found])
        else:
            groups[number].append(found)
    causes = [_cause(at, tuple(groups[number])) for (at, _), number in numbers.items()]
    return sorted(causes, key=lambda cause: _order(cause.lead))


def _first_group(numbers: Mapping[tuple[str, frozenset[str]], int], at: str, hooks: frozenset[str]) -> int | None:
    """Return the first group that first differs at a hook and has some of given hooks, all of its own among them."""
    if len(hooks) > HOOKS_MAX:
        fits = [number for (other, some), number in numbers.items() if other == at and some <= hooks]
    else:
        subsets = (frozenset(some) for size in range(len(hooks) + 1) for some in combinations(hooks, size))
        fits = [numbers[at, some] for some in subsets if (at, some) in numbers]
    return min(fits, default=None)


def _cause(differs_at: str, group: tuple[Finding, ...]) -> Cause:
    # Of the cheapest ones that which does most harm comes first; they are sorted by that already.
    lead = group[0]
    runs: dict[tuple[str, int, Schedule], Finding] = {}
    for found in group:
        runs.setdefault((found.task_id, found.seed, found.schedule), found)
    headlines = Counter(headline_of(found.trace, found.nominal, found.contract) for found in runs.values())
    (headline, _), *others = headlines.items()
    # One with other faults may show a pattern that the lead has nothing to do with.
    alike = (found for found in group if found.schedule == lead.schedule)
    patterns = (pattern_in(found.trace, found.nominal, found.contract) for found in alike)
    pattern = next((pattern for pattern in patterns if pattern is not None), None)
    return Cause(lead.hooks, differs_at, group, headline, tuple(others), pattern)


def _order(found: Finding) -> tuple[float, int, int, str, int, str, str]:
    rank = rank_of(found.contract)
    return found.cost, len(found.hooks), rank, found.task_id, found.seed, found.contract, found.id


def cause_json(cause: Cause) -> dict[str, Plain]:
    """Return a cause as plain data."""
    pattern: Mapping[str, Plain] | None = None if cause.pattern is None else cause.pattern.to_json()
    return {
        "headline": cause.headline,
        "others": [{"headline": headline, "runs": count} for headline, count in cause.others],
        "cost": cause.lead.cost,
        "faults": len(cause.lead.schedule),
        "hooks": list[Plain](sorted(cause.hooks)),
        "differs_at": cause.differs_at,
        "contracts": list[Plain](cause.contracts),
        "tasks": list[Plain](cause.tasks),
        "lead": cause.lead.id,
        "schedule": cause.lead.schedule.text,
        "counterexamples": [found.id for found in cause.findings],
        "pattern": None if pattern is None else dict(pattern),
    }
