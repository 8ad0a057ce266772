"""What `message.partition` does to a crossing, and to agents that talk."""

from __future__ import annotations

import pytest

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.schedule import parse
from chaosagent.operators.message.partition import Partition
from chaosagent.targets.target import Run, target
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Landing, Outcome, SystemConfig, Task


def _is_lost(members: str, to: str, operation: str = "send") -> bool:
    """Say whether a message of the agent `planner` gets lost."""
    request = Request(operation, {"to": to, "body": "pay"})
    crossing = FakeCrossing(Sample(Boundary.MESSAGE, request, Response(None)))
    assert play(Partition(members), crossing) == Response(None)
    return crossing.calls != [request]


@pytest.mark.parametrize(
    ("members", "lost"),
    [
        ("planner,writer", ["clerk"]),
        ("writer, clerk", ["writer", "clerk"]),
        ("planner,writer,clerk", []),
        ("nobody", []),
        ("", ["writer", "clerk"]),
    ],
)
def test_only_what_passes_between_the_groups_gets_lost(members: str, lost: list[str]) -> None:
    assert [to for to in ("writer", "clerk", "planner") if _is_lost(members, to)] == lost


def test_a_comma_too_many_names_nobody() -> None:
    assert _is_lost("planner, ", "")
    assert not _is_lost("planner, ", "planner")


def test_other_operations_are_untouched() -> None:
    assert not _is_lost("planner", "clerk", operation="receive")


@target(name="round-of-three", tasks=[Task("round")])
async def round_of_three(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # the protocol's
    """Each of three agents writes to both others."""
    names = ("planner", "writer", "clerk")
    for sender in names:
        with run.agent(sender):
            for to in names:
                if to != sender:
                    await run.message("team")("send", to=to, body=f"from {sender}")
    return Outcome("done", success=True)


def test_a_partition_lasts_and_tells_who_is_on_which_side() -> None:
    experiment = Experiment(round_of_three, round_of_three.task("round"), SystemConfig(), seed=1)

    trace = execute(experiment, parse('message:team[*] partition(members="planner,writer")')).trace

    lost = [
        (step.agent, step.arguments["to"])
        for step in trace.steps
        if step.landed is not None and step.landed.landing is Landing.LANDED
    ]
    assert lost == [("planner", "clerk"), ("writer", "clerk"), ("clerk", "planner"), ("clerk", "writer")]
