"""Random agents with a boolean signal: forty to tune searchers on, and forty others to report.

Run: python -m chaosagent.experiments.benchmarks.planted.random_agents

draws them anew and writes `random_agents.csv`: which they are, and how the least cost of each was proved. Left out are
agents that one fault breaks and those that only dear schedules break. Where a proof takes too long, the construction
stands for it: each fact has a service of its own and a cost of its own, so the least cost of a clause is their sum.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from chaosagent.experiments.benchmarks.planted.desk import (
    ANY_LIST,
    ITEMS,
    Desk,
    TooManyErrorsError,
    complete,
    finished,
    losing,
    stopped,
)
from chaosagent.experiments.benchmarks.planted.family import Family, Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import (
    LAST_LOST,
    LATE,
    SOME_LOST,
    VERY_LATE,
    fourteen,
    space,
)
from chaosagent.experiments.benchmarks.planted.truth import PLAIN, Proof, TooDearError, prove
from chaosagent.experiments.benchmarks.tables import read_table, write_table
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.seeds import derive
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

GROUPS = {"tuning-agents": 0, "reported-agents": 100_000}
"""The first number of each group; the others follow, without those that are left out."""
COUNT = 40
COST_MIN, COST_MAX = 2.0, 4.6
BUDGET_MORE = 0.5
COST_OF_PAIRS = 3.0
"""From here on, proofs without rule R3 take tens of thousands of executions."""
EXECUTIONS_MAX = 3_000
CONSTRUCTION = "construction"
STORED = "random_agents.csv"
ABOUT = "python -m chaosagent.experiments.benchmarks.planted.random_agents"
PATIENCE_SECONDS = 0.5
STALE_SECONDS = 40.0
MANY = losing(at_least=2, at_most=ITEMS)
SHAPES = ("list", "level", "text")


@dataclass(frozen=True, slots=True)
class Question:
    """One service that an agent asks.

    Attributes:
        weakness: What goes unnoticed: a `short` list, one that is `shorter` by two, a `stale` answer; or a `silent`
            service, for which the agent has a default.
        shape: Of the answers.
        attempts: How often the agent asks.
        patient: It waits for late answers.
        backup: Another service is asked before the default is taken.
    """

    weakness: str
    shape: str
    attempts: int
    patient: bool
    backup: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A random agent.

    Attributes:
        questions: In order; a weakness that shows is a fact.
        clauses: Sets of facts, by the numbers of their questions; each set is fatal.
        wary: The agent stops when a second service fails, be it once.
    """

    questions: tuple[Question, ...]
    clauses: tuple[tuple[int, ...], ...]
    wary: bool


def program(number: int) -> Program:
    """Return the random agent of a number."""
    rng = derive(number, "planted", "agent")
    questions = []
    wary = rng.random() < 0.5
    for _ in range(rng.randint(8, 14)):
        weakness = rng.choice(("short", "shorter", "stale", "silent", "silent"))
        silent = weakness == "silent"
        shape = rng.choice(SHAPES) if silent else "list"
        attempts, patient = rng.choice((1, 1, 2, 3)), not silent or rng.random() < 0.6
        questions.append(Question(weakness, shape, attempts, patient, silent and not wary and rng.random() < 0.3))
    sizes = [rng.choice((2, 3, 3)) for _ in range(rng.randint(1, 3))]
    clauses = {tuple(sorted(rng.sample(range(len(questions)), size))) for size in sizes}
    if wary:  # it stops before a second service has been silent
        clauses = {clause for clause in clauses if sum(questions[at].weakness == "silent" for at in clause) <= 1}
    return Program(tuple(questions), tuple(sorted(clauses)), wary)


def build(known: Program, layout: Layout) -> Planted:
    """Return the target that a random agent is, in a layout."""
    count = len(known.questions)
    drawn = layout.names(2 * count)
    names, backups = drawn[:count], drawn[count:]
    services = dict(zip(names, (question.shape for question in known.questions), strict=True))
    fatal = {place for clause in known.clauses for place in clause}
    services |= {backups[place]: "level" for place, question in enumerate(known.questions) if question.backup}

    @target(name="planted-agent")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks some services, and overlooks what it overlooks."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints, wary=known.wary)
        desk.open(services)
        facts: list[int] = []
        try:
            for place, question in enumerate(known.questions):
                shows = await _shows(desk, question, names[place], backups[place])
                if shows is None:
                    return stopped(f"{names[place]} does not answer")
                facts += [place] if shows and place in fatal else []
                desk.rest(names[place], list(facts))
        except TooManyErrorsError:
            return stopped("too much has failed")
        return finished(0.0 if any(set(clause) <= set(facts) for clause in known.clauses) else 1.0)

    places = tuple(
        hook for name, asked in zip(names, known.questions, strict=True) for hook in tries(name, asked.attempts)
    )
    places += tuple(hook for name in services if name in backups for hook in tries(name, 1))
    space_of_all = space(*fourteen())
    planted = [_cheapest(known, clause, names, backups) for clause in known.clauses]
    least = min((found.declared_cost(space_of_all.model) for found in planted), default=0.0)
    minima = tuple(found for found in planted if found.declared_cost(space_of_all.model) == least)
    return Planted(agent, space_of_all, places, minima, least + BUDGET_MORE)


async def _shows(desk: Desk, question: Question, name: str, backup: str) -> bool | None:
    """Ask a question; return whether its weakness shows, `None` when the agent stops."""
    accepts = {"short": ANY_LIST, "shorter": MANY}.get(question.weakness, complete)
    patience = None if question.patient else PATIENCE_SECONDS
    answer = await desk.fetch(name, attempts=question.attempts, accepts=accepts, patience=patience)
    if question.weakness == "silent":
        return answer is None and (not question.backup or await desk.fetch(backup) is None)
    if answer is None:
        return None
    return answer.waited >= STALE_SECONDS if question.weakness == "stale" else answer.lost > 0


def _cheapest(known: Program, clause: Sequence[int], names: Sequence[str], backups: Sequence[str]) -> Schedule:
    """Return the cheapest faults that make all facts of a clause show; each costs by itself, so the sum is least."""
    lines: list[str] = []
    for place in clause:
        question, name = known.questions[place], names[place]
        once = {"short": LAST_LOST, "shorter": SOME_LOST, "stale": VERY_LATE}.get(question.weakness)
        if once is not None:
            lines.append(f"service:{name}[1] {once}")
            continue
        failing = LAST_LOST if question.patient else LATE
        hooks = [str(hook) for hook in tries(name, question.attempts)]
        lines += [f"{hook} {failing}" for hook in hooks]
        lines += [f"service:{backups[place]}[1] {LAST_LOST}"] if question.backup else []
    return parse("\n".join(lines))


@functools.cache
def agent_family(number: int) -> Family:
    """Return a random agent as a family of the benchmark."""
    known = program(number)

    def layout(of: Layout) -> Planted:
        return build(known, of)

    planted = layout(Layout(f"agent-{number}", 0))
    return Family(f"agent-{number}", layout, len(planted.hooks), 14, planted.minimum)


def known_agents(group: str) -> tuple[int, ...]:
    """Return the numbers of the agents of a group."""
    return tuple(stored()[group])


@functools.cache
def stored() -> Mapping[str, Mapping[int, Proof]]:
    """Return how the least cost of each agent was proved, by group and number."""
    groups: dict[str, dict[int, Proof]] = {}
    for group, number, proof in read_table(Path(__file__).with_name(STORED), _row, command=ABOUT)[1]:
        groups.setdefault(group, {})[number] = proof
    return groups


def _row(row: Mapping[str, str]) -> tuple[str, int, Proof]:
    minimum = float(row["minimum"]) if row["minimum"] else None
    return row["group"], int(row["number"]), Proof(minimum, row["rules"], int(row["executions"]))


def chosen(first: int, count: int) -> Iterator[tuple[int, Proof]]:
    """Yield the agents of a group with their proofs.

    Args:
        first: Number from which on agents are considered.
        count: How many.
    """
    found, number = 0, first
    while found < count:
        family = agent_family(number)
        if family.minimum is not None and COST_MIN <= family.minimum <= COST_MAX:
            yield number, _proof(family)
            found += 1
        number += 1


def _proof(family: Family) -> Proof:
    rules = tuple(PLAIN) if family.minimum is not None and family.minimum < COST_OF_PAIRS else ("R1 R2 R3",)
    try:
        return prove(family.planted(0), EXECUTIONS_MAX, rules)
    except TooDearError:
        return Proof(family.minimum, CONSTRUCTION, 0)


def main() -> None:
    """Choose the agents, and store what was found beside this file."""
    rows: list[tuple[object, ...]] = []
    for group, first in GROUPS.items():
        for number, proof in chosen(first, COUNT):
            rows.append((group, number, *astuple(proof)))
            print(f"{group} {number}: {proof.minimum:g}, {proof.rules}, {proof.executions} executions", flush=True)
    columns = ("group", "number", *(field.name for field in fields(Proof)))
    write_table(Path(__file__).with_name(STORED), ABOUT, columns, rows)


if __name__ == "__main__":
    main()
