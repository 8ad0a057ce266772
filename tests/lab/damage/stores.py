"""Valid stores to be damaged: of a deterministic target and of one whose answers are frozen, in several states."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.resume_state import NOTHING_EARLIER
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import ANSWERS_NAME, FILE_NAME
from chaosagent.study.store.reading import open_closed_store
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task
from tests.lab.targets.programs import Pay, Program, Read, target_of

STATES = ("ended", "interrupted", "killed", "diverged")
CONTRACTS = tuple(one for one in default_contracts() if one.id in {"at-most-once", "no-extra-effects"})
ROWS = {
    "execution": "SELECT key, run.world, run.schedule, run.landed, run.status, run.error, run.cost, run.digest, "
    "run.ending, run.success, run.steps FROM run JOIN execution USING (id)",
    "draw": "SELECT task, seed, schedule, number, evaluation FROM draw",
    "differing": "SELECT task, seed, difference FROM differing",
    "trial": "SELECT task.text, seed.text, contract.text, number, purpose, verdict, margin, unfair, "
    "run.schedule, run.digest FROM trial JOIN run ON run.id = trial.execution "
    "JOIN name AS task ON task.id = trial.task JOIN name AS seed ON seed.id = trial.seed "
    "JOIN name AS contract ON contract.id = trial.contract",
    "search": "SELECT task, seed, contract, trials, violated_nominally, certificate, certified, lower_bound, "
    "counterexample, schedule, cost FROM search",
    "counterexample": "SELECT id, task, seed, contract, schedule, cost, signature, certified FROM counterexample",
    "study": "SELECT key, value FROM study WHERE key IN ('plan', 'runs', 'target', 'config', 'digest', 'stochastic')",
}
"""What a store holds when a study has ended, apart from numbers of rows and from times."""


def answer_to(prompt: str) -> dict[str, Plain]:
    """Answer as a model that always answers the same question alike, though the study does not rely on that."""
    number = int.from_bytes(blake2b(prompt.encode(), digest_size=2).digest(), "big")
    return {"content": "yes" if number % 4 else "no", "tool_calls": []}


@target(name="payer", tasks=[Task("pay", {"amount": 5})], configs=[SystemConfig("default")])
async def payer(task: Task, run: Run) -> Outcome:
    """Pay, and ask a model whether to pay again when that failed."""
    bank = run.service("bank", {"pay": lambda amount: {"paid": amount}}, effects={"pay": effect("amount")})
    assistant = run.model("assistant", {"chat": lambda prompt: answer_to(prompt)})
    for step in range(3):
        await assistant("chat", prompt=f"plan {task.id}, step {step}, seed {run.seed}")
    for turn in range(3):
        try:
            await bank("pay", amount=5)
            break
        except ConnectionError:
            if (await assistant("chat", prompt=f"failed {turn} with {run.seed}, again?"))["content"] != "yes":
                break
    return Outcome("paid", success=True)


def deterministic(folder: Path) -> Plan:
    """Return a study of a small program."""
    system = target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1))))
    return _plan(system, folder, seeds=(0, 2**70), budget=2.4)


def stochastic(folder: Path) -> Plan:
    """Return a study with frozen answers."""
    return replace(_plan(payer, folder, seeds=(0, 1), budget=1.3), stochastic=True, confirmations=20)


def _plan(system: Target, folder: Path, *, seeds: tuple[int, ...], budget: float) -> Plan:
    return Plan(
        target=system,
        target_reference=system.name,
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=seeds,
        contracts=CONTRACTS,
        contract_specs=tuple(contract.id for contract in CONTRACTS),
        space=Space([Choices("service.lost_response", {}), Choices("service.field_corruption", {"kind": ("null",)})]),
        budget=budget,
        answers=folder / ANSWERS_NAME,
    )


Sinks = Callable[[StudyStore], Sequence[Sink]]
PLANS: dict[str, Callable[[Path], Plan]] = {"deterministic": deterministic, "stochastic": stochastic}


class _Interrupting(Sink):
    """Interrupts a study in the middle, or copies its folder then, as it is found after a crash."""

    def __init__(self, store: StudyStore, trials: int, folder: Path, copy: Path | None) -> None:
        self._store, self._left, self._folder, self._copy = store, trials, folder, copy

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at, contract, trial
        self._left -= 1
        if not self._left:
            if self._copy is None:
                raise KeyboardInterrupt
            with self._store._committer.lock:
                self._store._execute("COMMIT")
                self._store._execute("BEGIN")
                shutil.copytree(self._folder, self._copy)


def _interrupting(store: StudyStore, *, trials: int, folder: Path, copy: Path | None) -> list[Sink]:
    return [_Interrupting(store, trials, folder, copy)]


@dataclass(frozen=True, slots=True)
class Template:
    """A folder that holds a valid store, and what comes of it when it is resumed undamaged.

    Attributes:
        kind: Of target.
        state: How the study was ended.
        folder: Where; it is copied, not changed.
        fresh: The result of the study from its beginning.
        expected: The result of the resumed study.
        rows: What its store holds then.
    """

    kind: str
    state: str
    folder: Path
    fresh: list[object]
    expected: list[object]
    rows: dict[str, list[str]]


def essence(result: StudyResult) -> list[object]:
    """Return what a study says, apart from what it took."""
    return [
        result.digest,
        result.trials,
        result.nature.stochastic,
        result.unlike,
        [
            (
                str(search.certificate),
                search.certificate.certified,
                search.certificate.lower_bound,
                [(found.id, found.cost, str(found.confirmation), found.confirmed) for found in search.counterexamples],
            )
            for search in result.searches
        ],
    ]


def _note_divergence(folder: Path, plan: Plan) -> None:
    """Note in a store that a repeated run diverged, so that nothing may be certified for its task."""
    store = StudyStore.resume(folder, plan)
    store.differed(TaskSeed(plan.tasks[0].id, plan.seeds[0]), "without injections, at service:s0[1]: another answer")
    store.close()


def rows_in(folder: Path) -> dict[str, list[str]]:
    """Return what a store holds."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        rows = {name: sorted(map(repr, connection.execute(query))) for name, query in ROWS.items()}
    with open_closed_store(folder / FILE_NAME) as store:
        return {**rows, "evaluations": sorted(map(repr, store.evaluations("execution")))}


def run(folder: Path, plan: Plan, *, resume: bool, sinks: Sinks = lambda _: ()) -> StudyResult:
    """Run a study, or resume it, and close its store whatever happens."""
    store = StudyStore.resume(folder, plan) if resume else StudyStore.create(folder, plan, "target: x\n")
    digest = ""
    try:
        earlier = store.earlier() if resume else NOTHING_EARLIER
        result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store, *sinks(store)], earlier=earlier).run()
        digest = "" if result.interrupted else result.digest
    finally:
        store.close(digest)
    return result


def templates(folder: Path) -> list[Template]:
    """Make a template of each kind in each state."""
    found = []
    for kind, plan_in in PLANS.items():
        for state in STATES:
            at, copy = folder / f"{kind}-{state}", folder / f"{kind}-{state}-copy"
            whole = run(at, plan_in(at), resume=False)
            if state != "ended":
                shutil.rmtree(at)
                kept = copy if state == "killed" else None
                stop = partial(_interrupting, trials=2 * whole.trials // 3, folder=at, copy=kept)
                run(at, plan_in(at), resume=False, sinks=stop)
            if state == "killed":
                shutil.rmtree(at)
                copy.rename(at)
            if state == "diverged":
                _note_divergence(at, plan_in(at))
            with_result = folder / "resumed"
            shutil.copytree(at, with_result)
            expected = essence(run(with_result, plan_in(with_result), resume=True))
            found.append(Template(kind, state, at, essence(whole), expected, rows_in(with_result)))
            shutil.rmtree(with_result)
    return found
