"""Studies in folders, and their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

import chaosagent
from chaosagent.api.stored.study_facts import study_facts
from chaosagent.canonical import Plain
from chaosagent.effects.rule import effect
from chaosagent.report.html.study_facts import ErrorFact, StudyFacts
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Claim, Outcome, Task

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e"


def shop(tries: int, *tasks: str, reads: int) -> Target:
    """Return a target that pays again, with a new key, where nothing comes back; everything it says is hostile."""

    @target(name="shop", tasks=[Task(one, input=f"A-17{HOSTILE}") for one in tasks])
    async def pays(task: Task, run: Run) -> Outcome:
        """Pays for an order."""
        pay = run.service("payments", {"refund": lambda order: f"ok {order}"}, effects={"refund": effect("order")})
        log = run.service("log", {"write": lambda text: text})
        for _ in range(1 + reads):
            await log("write", text=f"before {HOSTILE}")
        paid = False
        with run.agent("action"):
            for _ in range(tries):
                try:
                    await pay("refund", order=task.input)
                    paid = True
                    break
                except (ConnectionError, TimeoutError):
                    await run.clock.sleep(2)
        claims = (Claim("payments.refund", {"order": task.input}),) if paid else ()
        return Outcome(f"done {HOSTILE}", success=paid or tries > 1, claims=claims)

    return pays


@pytest.fixture(scope="session")
def study_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFacts]:
    """Return a function that searches a target and returns what is in the folder then."""

    def searched(
        tries: int, *tasks: str, contracts: tuple[str, ...] = ("at-most-once", "objective"), reads: int = 0
    ) -> StudyFacts:
        folder = tmp_path_factory.mktemp("study") / "out"
        lost = "service.lost_response"
        narrow: Mapping[str, Plain] = {"operator": lost, "when": "after", "interfaces": ["service:payments"]}
        operators = [narrow if reads else lost]
        study = chaosagent.Study(shop(tries, *tasks, reads=reads), contracts=contracts, operators=operators, budget=1.2)
        chaosagent.search(study, out=folder)
        return study_facts(folder)

    return searched


@pytest.fixture(scope="session")
def broken(study_of: Callable[..., StudyFacts]) -> StudyFacts:
    """Return a study that found a double payment in each of two tasks, one of them with a hostile name."""
    return study_of(2, f"late{HOSTILE}", "calm")


@pytest.fixture(scope="session")
def robust(study_of: Callable[..., StudyFacts]) -> StudyFacts:
    """Return a study that proved that nothing breaks."""
    return study_of(1, "calm", contracts=("at-most-once",))


@pytest.fixture(scope="session")
def many(broken: StudyFacts) -> StudyFacts:
    """Return a study with 2,000 counterexamples, each a cause of its own."""
    (one, *_) = broken.counterexamples
    hook = next(iter(one.record.schedule)).hook
    found = [
        one._replace(
            record=replace(
                one.record,
                seed=number,
                schedule=replace(
                    one.record.schedule,
                    injections=tuple(
                        replace(injection, hook=hook._replace(first=number, last=number))
                        for injection in one.record.schedule
                    ),
                ),
            )
        )
        for number in range(1, 2001)
    ]
    return replace(broken, counterexamples=found)


@pytest.fixture(scope="session")
def long(study_of: Callable[..., StudyFacts]) -> StudyFacts:
    """Return a study whose counterexample has a trace of some 2,000 steps."""
    found = study_of(2, "calm", reads=1_990)
    assert len(found.counterexamples[0].record.trace.steps) > 1_990
    return found


@pytest.fixture(scope="session")
def running(broken: StudyFacts) -> StudyFacts:
    """Return a study that is at work: a violation is known, and no search is over."""
    return replace(broken, state="running", searches=(), objective=(), written="2026-03-01T22:00:05Z")


@pytest.fixture(scope="session")
def interrupted(broken: StudyFacts) -> StudyFacts:
    """Return a study that was interrupted."""
    return replace(broken, state="interrupted", ended="")


@pytest.fixture(scope="session")
def erred(broken: StudyFacts) -> StudyFacts:
    """Return a study of which some runs ended with an error that tells hostile things."""
    failed = [ErrorFact(f"RuntimeError: {HOSTILE * 9}", 3, HOSTILE, "")]
    return replace(broken, errors=3, failed=failed)


@pytest.fixture(scope="session")
def by_chance(broken: StudyFacts) -> StudyFacts:
    """Return a study of a target that answers by chance."""
    return replace(broken, stochastic=True)
