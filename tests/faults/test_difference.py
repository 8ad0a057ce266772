"""The first difference of two runs."""

from __future__ import annotations

from dataclasses import replace

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.difference import TEXT_MAX, difference_in_calls
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


def test_a_difference_shows_no_secret_also_where_it_is_cut() -> None:
    def run(text: str) -> Evaluation:
        @target(tasks=[Task("ask")])
        async def asks(_: Task, run: Run) -> Outcome:
            return Outcome(await run.service("vault", {"read": lambda text: f"{text}!"})("read", text=text))

        system = replace(asks, secrets=("sk-[0-9]{40}",))
        return execute(Experiment(system, system.task("ask"), system.config("default"), 0, ()), EMPTY).evaluation

    for before in (0, TEXT_MAX - 30):
        secrets = (f"sk-{digit * 40}" for digit in "12")
        difference = difference_in_calls(*(run("x" * before + secret) for secret in secrets))

        assert difference.field == "request"
        assert difference.expected != difference.got or before
        assert "[secret" in difference.expected
        assert "sk-" not in str(difference)
