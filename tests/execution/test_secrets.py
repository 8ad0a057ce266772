"""Secrets: nothing that is stored holds one, while monitors and the target see the real values."""

import contextlib
from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from chaosagent.canonical import pack, plain
from chaosagent.contracts.templates.no_extra_effects import NoExtraEffects
from chaosagent.contracts.templates.no_leak import NoLeak
from chaosagent.contracts.templates.promises_kept import PromisesKept
from chaosagent.effects.rule import effect
from chaosagent.errors import SecretsError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.governance.mediator import PolicyMediator, Ruling
from chaosagent.targets.target import target
from chaosagent.vocabulary import Claim, Ending, Labels, Mediation, Outcome, Task, Verdict

Play = Callable[..., Execution]
SECRET = "sk-0123456789"
PATTERNS = (r"(?i)SK-\d+", r"unused (group) \1")


async def careless(run: Any) -> Outcome:
    """Let a secret get everywhere."""

    def echo(**arguments: Any) -> Any:
        if arguments.get("fails"):
            raise LookupError(f"no account {SECRET}")
        return {"key": SECRET, SECRET: [f"<{SECRET}>"]}

    door = run.service("crm", {"send": echo}, effects={"send": effect("token")})
    rulings = {SECRET: Ruling(Mediation.REWRITE, f"cut {SECRET}", {"token": SECRET, "text": "cut"})}
    run.mediate(PolicyMediator(policies=[lambda action: rulings.get(str(action.arguments.get("text")))]))
    await door("send", token=SECRET)
    await door("send", text=SECRET)
    run.link(f"answer {SECRET}", "derived_from", SECRET)
    run.note("seen", token=SECRET)
    run.link("outcome", "derived_from", SECRET)
    with pytest.raises(LookupError, match=SECRET):
        await door("send", fails=True)
    return Outcome(f"sent with {SECRET}", claims=(Claim("crm.send", {"token": SECRET}),), state={"token": SECRET})


def stored(found: Execution) -> bytes:
    """Return everything of a trace that could be written somewhere."""
    trace = found.trace
    steps = msgpack.packb([step.canonical() for step in trace.steps], unicode_errors="surrogatepass")
    said = [trace.outcome, trace.ending_detail, trace.verdicts, trace.effects, *map(list, trace.links)]
    return steps + pack(plain(said))


def test_nothing_that_is_stored_holds_a_secret(play: Play) -> None:
    found = play(careless, secrets=PATTERNS, tasks=[Task("a", labels=Labels(canaries=(SECRET,)))])

    assert SECRET.encode() in stored(play(careless))
    assert SECRET.encode() not in stored(found)
    assert found.trace.outcome.message.startswith("sent with [secret ")


def test_the_same_secret_gets_the_same_placeholder_everywhere(play: Play) -> None:
    found = play(careless, secrets=PATTERNS)

    placeholder = found.trace.outcome.message.removeprefix("sent with ")
    assert found.trace.steps[0].arguments == {"token": placeholder}
    assert found.trace.steps[0].answer == {"key": placeholder, placeholder: [f"<{placeholder}>"]}
    assert found.trace.effects[0].identity == {"token": placeholder}
    assert found.trace.digest == play(careless, secrets=PATTERNS).trace.digest


def test_monitors_see_the_real_values_and_verdicts_do_not_tell_them() -> None:
    task = Task("a", labels=Labels(canaries=(SECRET,)))
    made = target(secrets=PATTERNS, tasks=[task])(_asynchronous)
    found = execute(Experiment(made, task, made.config("default"), 0, (NoLeak(),)), EMPTY)

    assert found.trace.verdicts[0].verdict is Verdict.VIOLATED
    assert SECRET not in str(found.trace.verdicts)


async def _asynchronous(_: Task, run: Any) -> Outcome:
    return await careless(run)


def test_effects_and_claims_with_secrets_are_compared_with_the_nominal_run_alike() -> None:
    made = target(secrets=PATTERNS)(_asynchronous)
    contracts = (NoExtraEffects(), PromisesKept())
    bare = Experiment(made, made.task("default"), made.config("default"), 0, contracts)

    found = execute(bare.with_nominal(), EMPTY)

    assert [verdict.verdict for verdict in found.trace.verdicts] == [Verdict.HOLDS, Verdict.HOLDS]


def test_the_message_of_a_crash_holds_no_secret(play: Play) -> None:
    async def agent(_: Any) -> None:
        raise LookupError(f"wrong key {SECRET}")

    found = play(agent, secrets=PATTERNS)

    assert found.trace.ending is Ending.CRASHED
    assert found.trace.ending_detail.startswith("LookupError: wrong key [secret ")


@pytest.mark.parametrize("answer", ["late", "message"])
def test_a_pattern_that_backtracks_without_end_ends_the_run_whatever_the_target_catches(
    play: Play, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("chaosagent.trace.redact.SECONDS_MAX", 0.05)
    text = "ab" * 40 + "!"

    async def agent(run: Any) -> Outcome:
        vault = run.service("vault", {"late": lambda: text, "message": lambda: ""}, read_only=True)
        with contextlib.suppress(Exception):
            await vault(answer)
        return Outcome(text if answer == "message" else "", success=True)

    with pytest.raises(SecretsError, match="secrets: pattern 1 took more than"):
        play(agent, secrets=["((a|b|ab)+)+$"])


def test_a_pattern_that_is_no_regular_expression_is_refused(play: Play) -> None:
    with pytest.raises(SecretsError, match="secrets: pattern 1 is no regular expression"):
        play(careless, secrets=["("])
