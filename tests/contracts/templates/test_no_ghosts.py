"""What was done is not passed over in silence."""

from __future__ import annotations

from chaosagent.contracts.contract import End, Nominal, Setting
from chaosagent.contracts.templates.no_ghosts import NoGhosts
from chaosagent.testing.steps import make_step
from chaosagent.vocabulary import Claim, Effect, Ending, Failure, Impact, Outcome, Task, Verdict

PAYMENT = Effect("bank.pay", {"to": "Ann", "amount": 5.0, "subject": "rent"})
SAID = Claim("bank.pay", {"to": "Ann", "amount": 5})
OTHER = Claim("bank.pay", {"to": "Bob", "amount": 5})
NOMINAL = Nominal((PAYMENT,), Outcome("paid", claims=(SAID,)))


def verdict(
    *effects: Effect,
    claims: tuple[Claim, ...] = (),
    nominal: Nominal | None = NOMINAL,
    ending: Ending = Ending.FINISHED,
) -> Verdict:
    monitor = NoGhosts().monitor(Setting(Task("a"), nominal))
    lost = Failure("connection", "connection reset by peer")
    assert monitor.step(make_step(0, "service:bank", "pay", effects=effects, failure=lost)) is None
    return monitor.end(End(ending, "", Outcome("...", claims=claims), 1)).verdict


def test_an_effect_that_the_final_message_leaves_out_is_a_ghost() -> None:
    assert verdict(PAYMENT) is Verdict.VIOLATED


def test_an_effect_that_the_final_message_names_is_none() -> None:
    assert verdict(PAYMENT, claims=(SAID,)) is Verdict.HOLDS


def test_a_claim_about_something_else_does_not_name_it() -> None:
    assert verdict(PAYMENT, claims=(OTHER,)) is Verdict.VIOLATED


def test_silence_about_what_was_not_done_is_right() -> None:
    assert verdict() is Verdict.HOLDS


def test_what_the_nominal_run_does_not_name_need_not_be_named() -> None:
    assert verdict(PAYMENT, nominal=Nominal((PAYMENT,), Outcome("paid"))) is Verdict.HOLDS
    assert verdict(PAYMENT, nominal=None) is Verdict.HOLDS


def test_a_write_that_does_no_harm_is_no_ghost() -> None:
    assert verdict(PAYMENT._replace(impact=Impact.HARMLESS)) is Verdict.HOLDS


def test_a_run_without_a_final_message_is_left_to_other_contracts() -> None:
    assert verdict(PAYMENT, ending=Ending.CRASHED) is Verdict.HOLDS


def test_the_reason_names_the_first_ghost_and_counts_the_others() -> None:
    second = Effect("bank.pay", {"to": "Bob", "amount": 5})
    monitor = NoGhosts().monitor(Setting(Task("a"), Nominal((), Outcome(claims=(SAID, OTHER)))))
    monitor.step(make_step(0, effects=[PAYMENT, second]))

    reading = monitor.end(End(Ending.FINISHED, "", Outcome(), 1))

    assert reading.reason == (
        "bank.pay(amount=5, to='Ann') was committed, and the final message says nothing of it, nor of 1 more"
    )
    assert reading.margin == -1.0


def test_its_state_tells_whether_the_effect_was_committed() -> None:
    monitor = NoGhosts().monitor(Setting(Task("a"), NOMINAL))
    before = monitor.state()

    monitor.step(make_step(0, effects=[PAYMENT]))

    assert (before, monitor.state()) == ([False], [True])
