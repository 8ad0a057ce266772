"""Studies in folders, and their pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import chaosagent
from chaosagent.api.stored.study_facts import study_facts
from chaosagent.effects.rule import effect
from chaosagent.report.html.study_facts import StudyFacts
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Claim, Outcome, Task

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e"


def shop(tries: int, *tasks: str) -> Target:
    """Return a target that pays again, with a new key, where nothing comes back; everything it says is hostile."""

    @target(name="shop", tasks=[Task(one, input=f"A-17{HOSTILE}") for one in tasks])
    async def pays(task: Task, run: Run) -> Outcome:
        """Pays for an order."""
        pay = run.service("payments", {"refund": lambda order: f"ok {order}"}, effects={"refund": effect("order")})
        await run.service("log", {"write": lambda text: text})("write", text=f"before {HOSTILE}")
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

    def searched(tries: int, *tasks: str, contracts: tuple[str, ...] = ("at-most-once", "objective")) -> StudyFacts:
        folder = tmp_path_factory.mktemp("study") / "out"
        operators = ["service.lost_response"]
        study = chaosagent.Study(shop(tries, *tasks), contracts=contracts, operators=operators, budget=1.2)
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
