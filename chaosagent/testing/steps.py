"""Steps made by hand, for tests of contracts.

```python
pay = Effect("payments.refund", {"order": 7})
steps = [make_step(index, "service:payments", "refund", effects=[pay]) for index in range(2)]
assert watch(AtMostOnce(), steps, setting=make_setting([pay]))[-1].verdict is Verdict.VIOLATED
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack

from chaosagent.canonical import Plain, pack
from chaosagent.contracts.contract import Contract, End, Nominal, Reading, Setting
from chaosagent.trace.step import ALLOWED, Decision, Landed, Link, Step, StepKind
from chaosagent.vocabulary import Boundary, Effect, Ending, Failure, Labels, Outcome, Task, Verdict


class StepFacts(TypedDict, total=False):
    """What a made step tells besides its place; see the attributes of `Step`."""

    kind: StepKind
    agent: str
    role: str
    occurrence: int
    attempt: int
    arguments: Mapping[str, Plain]
    answer: Plain
    failure: Failure | None
    asked_at: float
    arrived_at: float
    decision: Decision
    landed: Landed | None
    effects: Iterable[Effect]
    links: Iterable[Link]
    egress: bool
    inside: str
    soft_error: str


def make_step(index: int, interface: str = "service:tool", operation: str = "call", **facts: Unpack[StepFacts]) -> Step:
    """Return a step as monitors see it, with raw arguments and answer.

    Args:
        index: Place in the trace, from 0.
        interface: With its boundary, such as `"service:crm"`.
        operation: What is asked of it; of a note its kind.
        **facts: Attributes of the step; what is not given is empty, allowed, and answered at second `index`.
    """
    step = Step()
    failure = facts.get("failure")
    arguments, answer = dict(facts.get("arguments", {})), facts.get("answer")
    step.index, step.kind = index, facts.get("kind", StepKind.CALL)
    step.agent, step.role = facts.get("agent", ""), facts.get("role", "")
    step.interface = interface
    step.boundary = None if step.kind is StepKind.NOTE else Boundary(interface.partition(":")[0])
    step.occurrence, step.attempt = facts.get("occurrence", 1), facts.get("attempt", 0)
    step.operation = operation
    step.request = pack((operation, arguments))
    step.response, step.failure = pack((answer, failure)), failure
    step.egress = facts.get("egress", False)
    step.asked_at = facts.get("asked_at", float(index))
    step.arrived_at = facts.get("arrived_at", float(index))
    step.decision, step.landed = facts.get("decision", ALLOWED), facts.get("landed")
    step.effects, step.links = tuple(facts.get("effects", ())), tuple(facts.get("links", ()))
    step.inside, step.soft_error = facts.get("inside", ""), facts.get("soft_error", "")
    step.show(arguments, None if failure is not None else answer)
    return step


def make_note(index: int, kind: str, **facts: Plain) -> Step:
    """Return the step of a note that the target wrote, such as `make_note(3, "detected", hook=...)`."""
    return make_step(index, "note", kind, kind=StepKind.NOTE, arguments=facts)


def make_end(
    ending: Ending = Ending.FINISHED, outcome: Outcome | None = None, *, detail: str = "", step_count: int = 0
) -> End:
    """Return the end of a run."""
    return End(ending, detail, outcome if outcome is not None else Outcome(), step_count)


def make_setting(nominal: Iterable[Effect] | None = (), labels: Labels | None = None) -> Setting:
    """Return what a monitor may know beforehand: the nominal run's ledger (`None`: no such run) and the labels."""
    compared = None if nominal is None else Nominal(tuple(nominal))
    return Setting(Task("task", labels=labels if labels is not None else Labels()), compared)


def watch(
    contract: Contract, steps: Iterable[Step], end: End | None = None, setting: Setting | None = None
) -> list[Reading]:
    """Feed a whole run to a fresh monitor of a contract and return all that it said; the last reading counts.

    As in a real run, nothing is asked of the monitor after a violation.

    Args:
        contract: What is checked.
        steps: Of the run, in order.
        end: How it ended; finished with an empty outcome when not given.
        setting: What the monitor may know; by default a nominal run without effects.
    """
    monitor = contract.monitor(setting if setting is not None else make_setting())
    readings: list[Reading] = []
    step_count = 0
    for step in steps:
        step_count += 1
        reading = monitor.step(step)
        if reading is not None:
            readings.append(reading)
            if reading.verdict is Verdict.VIOLATED:
                return readings
    readings.append(monitor.end(end if end is not None else make_end(step_count=step_count)))
    return readings
