"""Where a target is weak: tables of costs, and who breaks which contract at which step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.report.html.study_facts import SearchFact, StudyFacts, bound_text
from chaosagent.report.story import agent_of, violation_of
from chaosagent.report.weaknesses import rank_of

ROWS_MAX = 40
BY_ITS_END = "nobody: how the run ended"
INFINITE = float("inf")


class Cell(NamedTuple):
    """What a cell says, its tone among the classes of the page, and the cost that it says; `None` for no cost."""

    text: str
    tone: str
    cost: float | None = None


EMPTY = Cell("", "")


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of costs.

    Attributes:
        down: What its rows are, such as `"task"`.
        across: What its columns are.
        columns: Their names.
        rows: A name and a cell for each column, the weakest first.
    """

    down: str
    across: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]

    @property
    def shown(self) -> Sequence[tuple[str, Sequence[Cell]]]:
        """The rows that the page shows."""
        return self.rows[:ROWS_MAX]

    @property
    def left(self) -> int:
        """How many rows it leaves out."""
        return max(0, len(self.rows) - ROWS_MAX)

    def to_json(self) -> list[Plain]:
        """Return every cell that says something as plain data."""
        return [
            {self.down: name, self.across: column, "cost": cell.cost, "text": cell.text}
            for name, cells in self.rows
            for column, cell in zip(self.columns, cells, strict=True)
            if cell.text
        ]


class ProfileRow(NamedTuple):
    """Counterexamples in which the same agent breaks the same contract at the same call.

    Attributes:
        contract: That is broken.
        agent: Who acts there; empty for a target without named agents, and where the end of the run breaks it.
        role: Of the agent; empty for none.
        call: Interface and operation of the step that breaks it; empty where the end of the run does.
        first_step: The earliest step at which it happens.
        last_step: The latest.
        counterexamples: How many.
        cost: Of the cheapest.
    """

    contract: str
    agent: str
    role: str
    call: str
    first_step: int
    last_step: int
    counterexamples: int
    cost: float

    def to_json(self) -> dict[str, Plain]:
        """Return it as plain data."""
        return dict[str, Plain](self._asdict())


def task_heat(facts: StudyFacts) -> Heat | None:
    """Return the cost at which each task breaks each contract: the least over the seeds."""
    if not facts.searches:
        return None
    contracts = sorted({one.contract for one in facts.searches}, key=lambda one: (rank_of(one), one))
    groups: dict[tuple[str, str], list[SearchFact]] = {}
    for one in facts.searches:
        groups.setdefault((one.task, one.contract), []).append(one)
    rows = [(task, [_cell(groups.get((task, contract), []), facts) for contract in contracts]) for task in facts.tasks]
    return Heat("task", "contract", contracts, sorted(rows, key=_weakest))


def operator_heat(facts: StudyFacts) -> Heat | None:
    """Return the cost of the cheapest counterexample that has an operator at an interface, where any landed."""
    best: dict[tuple[str, str], float] = {}
    for one in facts.counterexamples:
        for injection in one.record.schedule:
            key = (injection.hook.interface, injection.operator_name)
            best[key] = min(one.record.cost, best.get(key, INFINITE))
    runs = {(interface, operator): count for (operator, interface), count in facts.tried.items()}
    pairs = {*best, *runs}
    if not pairs:
        return None
    operators = sorted({operator for _, operator in pairs})
    rows = [
        (interface, [_tried(best.get((interface, one)), runs.get((interface, one), 0)) for one in operators])
        for interface in sorted({interface for interface, _ in pairs})
    ]
    return Heat("interface", "operator", operators, sorted(rows, key=_weakest))


def agent_heat(facts: StudyFacts) -> Heat | None:
    """Return the cost of the cheapest counterexample in which an agent breaks a contract; `None` for one agent."""
    best: dict[tuple[str, str], float] = {}
    for one in facts.counterexamples:
        violation = violation_of(one.record)
        agent = "" if violation is None else agent_of(one.record.trace, violation)
        key = (agent or BY_ITS_END, one.record.contract)
        best[key] = min(one.record.cost, best.get(key, INFINITE))
    agents = sorted({agent for agent, _ in best}, key=lambda agent: (agent == BY_ITS_END, agent))
    if len(agents) < 2:
        return None
    contracts = sorted({contract for _, contract in best}, key=lambda one: (rank_of(one), one))
    rows = [(agent, [_tried(best.get((agent, contract)), 0) for contract in contracts]) for agent in agents]
    return Heat("agent", "contract", contracts, rows)


def violation_profile(facts: StudyFacts) -> list[ProfileRow]:
    """Return who breaks which contract at which step, the cheapest first."""
    rows: dict[tuple[str, str, str, str], ProfileRow] = {}
    for one in facts.counterexamples:
        trace, violation = one.record.trace, violation_of(one.record)
        at = len(trace.steps) if violation is None else min(violation.step, len(trace.steps))
        step = trace.steps[at] if at < len(trace.steps) else None
        agent = "" if violation is None else agent_of(trace, violation)
        role = "" if step is None else step.role
        call = "" if step is None else f"{step.interface} {step.operation}".strip()
        key = (one.record.contract, agent, role, call)
        known = rows.get(key, ProfileRow(*key, at, at, 0, INFINITE))
        rows[key] = known._replace(
            first_step=min(at, known.first_step),
            last_step=max(at, known.last_step),
            counterexamples=known.counterexamples + 1,
            cost=min(one.record.cost, known.cost),
        )
    return sorted(rows.values(), key=lambda row: (row.cost, rank_of(row.contract), row))


def _cell(listed: Sequence[SearchFact], facts: StudyFacts) -> Cell:
    if not listed:
        return EMPTY
    if any(one.violated_nominally for one in listed):
        return Cell("0 no fault needed", "f0", 0.0)
    costs = [one.cost for one in listed if one.cost is not None]
    if costs:
        return _cost(min(costs))
    standings = {one.standing(facts.budget, stochastic=facts.stochastic) for one in listed}
    if standings == {"proved"}:
        return Cell(f"> {facts.budget:g} proved", "ok")
    if "open" in standings:
        bound = min(one.proved_below(stochastic=facts.stochastic) for one in listed)
        return Cell(f"open from {bound_text(bound, facts.budget)}" if bound else "open", "open")
    return Cell(sorted(standings)[0], "none")


def _tried(cost: float | None, runs: int) -> Cell:
    if cost is not None:
        return _cost(cost)
    return Cell(f"{runs:,} runs", "none") if runs else EMPTY


def _cost(cost: float) -> Cell:
    return Cell(f"{cost:g}", f"f{min(3, max(1, int(cost)))}", cost)


def _weakest(row: tuple[str, Sequence[Cell]]) -> tuple[float, str]:
    name, cells = row
    return min((cell.cost for cell in cells if cell.cost is not None), default=INFINITE), name
