"""A target whose objective, labels or effect rules were loosened is not fixed; a person has to look at it."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.replays.declarations import UNREADABLE, declarations_of
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Effect, Labels, Outcome, Task
from tests.replays.desk import record_of_target

LOST = "service:payments[1] service.lost_response(when=before)"
LABELS = Labels(forbidden=("4711",))


def pays(
    objective: Callable[[Task, Outcome], bool] | None = None, labels: Labels = LABELS, *, tries: int = 1
) -> Target:
    """Return a target that charges account 4711 when the payment of order 7 fails `tries` times."""

    @target(name="pays", tasks=[Task("refund", input=7, labels=labels)], objective=objective)
    async def serve(task: Task, run: Run) -> Outcome:
        del task
        payments = run.service("payments", {"pay": lambda order: order, "charge": lambda account: account})
        for _ in range(tries):
            with contextlib.suppress(Exception):
                await payments("pay", order=7)
                return Outcome("paid", state={"paid": 1})
        await payments("charge", account="4711")
        return Outcome("charged", state={"paid": 0})

    return serve


def paid(_: Task, outcome: Outcome) -> bool:
    return outcome.state == {"paid": 1}


def paid_or_charged(_: Task, outcome: Outcome) -> bool:
    return outcome.state in ({"paid": 1}, {"paid": 0})


def is_no_refund(_: Task, outcome: Outcome) -> bool:
    return outcome.message == "paid" or outcome.state == {"paid": 2}


def replayed(record: ReplayRecord, today: Target) -> Replay:
    return rerun_schedule(record, today)


@pytest.mark.parametrize("declared", [True, False])
def test_a_loosened_objective_does_not_hold(*, declared: bool) -> None:
    record = record_of_target(pays(paid), LOST, "objective", ("objective",), declared=declared)
    assert replayed(record, pays(paid)).outcome is ReplayOutcome.VIOLATED

    replay = replayed(record, pays(paid_or_charged))

    assert replay.outcome is ReplayOutcome.CHANGED
    assert "today's objective" in replay.detail
    assert replayed(record, pays(paid, tries=2)).outcome is ReplayOutcome.HELD


def test_another_objective_that_still_finds_the_recorded_failure_is_to_be_reviewed() -> None:
    record = record_of_target(pays(paid), LOST, "objective", ("objective",))

    replay = replayed(record, pays(is_no_refund, tries=2))

    assert replay.outcome is ReplayOutcome.CHANGED
    assert "contract objective: the declaration has changed" in replay.detail


def test_loosened_labels_do_not_hold() -> None:
    record = record_of_target(pays(), LOST, "no-forbidden-values", ("no-forbidden-values",))
    assert replayed(record, pays()).outcome is ReplayOutcome.VIOLATED

    replay = replayed(record, pays(labels=Labels()))

    assert replay.outcome is ReplayOutcome.CHANGED
    assert "labels" in replay.detail
    assert replayed(record, pays(tries=2)).outcome is ReplayOutcome.HELD


class Rules:
    """Effect rules as they are written in a class, which refers to itself."""

    def __init__(self, tries: int) -> None:
        self.itself, self.tries = self, tries

    def pay(self, arguments: Mapping[str, Plain], _: Plain) -> Effect | None:
        return Effect("pay", dict(arguments)) if self.tries > 1 else None

    @staticmethod
    def always(arguments: Mapping[str, Plain], _: Plain) -> Effect:
        return Effect("pay", dict(arguments))

    @staticmethod
    def never(_: Mapping[str, Plain], __: Plain) -> None:
        return None


def digest_of_rule(rule: Any) -> str:
    (found,) = declarations_of((), {"service:bank": DoorOptions(effects={"pay": rule})})
    return found.digest


@pytest.mark.parametrize(
    ("rule", "loosened"),
    [
        (vars(Rules)["always"], vars(Rules)["never"]),
        (functools.lru_cache(Rules.always), functools.lru_cache(Rules.never)),
        (functools.cache(vars(Rules)["always"]), functools.cache(vars(Rules)["never"])),
        (Rules(2).pay, Rules(1).pay),
        (operator.itemgetter(0), operator.itemgetter(1)),
        (functools.partial(operator.methodcaller("get", "a")), functools.partial(operator.methodcaller("get", "b"))),
    ],
    ids=["staticmethod", "lru_cache", "cache of a staticmethod", "cycle", "itemgetter", "methodcaller"],
)
def test_rules_are_compared_however_they_are_wrapped(rule: object, loosened: object) -> None:
    assert UNREADABLE not in (digest_of_rule(rule), digest_of_rule(loosened))
    assert digest_of_rule(rule) != digest_of_rule(loosened)


def test_an_object_that_refers_to_itself_has_one_digest() -> None:
    one, other = Rules(2), Rules(2)

    assert digest_of_rule(one.pay) == digest_of_rule(other.pay)
