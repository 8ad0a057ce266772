"""What every monitor promises, on random runs: margins in range, final violations, states that say enough."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.canonical import pack
from chaosagent.contracts.catalogue import entries
from chaosagent.contracts.contract import Contract, End, Looks, Monitor, Nominal, Reading, Setting
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.templates.containment import Containment
from chaosagent.contracts.templates.least_privilege import LeastPrivilege
from chaosagent.contracts.templates.no_leak import NoLeak
from chaosagent.contracts.templates.ordering import Ordering
from chaosagent.contracts.templates.progress import Progress
from chaosagent.contracts.templates.role_boundary import RoleBoundary
from chaosagent.contracts.templates.supported_claims import SupportedClaims
from chaosagent.contracts.templates.verify_before_acting import VerifyBeforeActing
from chaosagent.contracts.temporal import always, count, never, since, until, within
from chaosagent.testing.steps import make_end, make_note, make_step, watch
from chaosagent.trace.step import Decision, Landed, Step, StepKind
from chaosagent.vocabulary import (
    Claim,
    Effect,
    Ending,
    Failure,
    Impact,
    Labels,
    Landing,
    Mediation,
    Outcome,
    Task,
    Verdict,
)

PAY, PAY_OTHER = Effect("pay", {"order": 1}), Effect("pay", {"order": 2})
MAIL, TICKET = Effect("mail", {"to": "c"}), Effect("ticket", {}, Impact.COMPENSATING)
TIMEOUT = Failure("timeout", "")
LANDED = Landed("", "service.delay", Landing.LANDED, "late")

ALPHABET: dict[str, Callable[[int], Step]] = {
    "get": lambda i: make_step(i, "service:orders", "get", agent="r", role="reader", answer=1),
    "get other": lambda i: make_step(i, "service:orders", "get", agent="r", role="reader", answer=2),
    "get fails": lambda i: make_step(i, "service:orders", "get", agent="r", failure=TIMEOUT),
    "get late": lambda i: make_step(i, "service:orders", "get", agent="r", role="reader", landed=LANDED),
    "verify": lambda i: make_step(i, "service:orders", "check", agent="v", role="verifier", arguments={"order": 1}),
    "pay": lambda i: make_step(i, "service:bank", "pay", agent="a", arguments={"order": 1}, effects=[PAY]),
    "pay other": lambda i: make_step(i, "service:bank", "pay", agent="a", arguments={"order": 2}, effects=[PAY_OTHER]),
    "pay fails": lambda i: make_step(i, "service:bank", "pay", agent="a", failure=TIMEOUT, landed=LANDED),
    "paid late": lambda i: make_step(i, "service:bank", "pay", agent="a", kind=StepKind.LATE, effects=[PAY]),
    "mail": lambda i: make_step(i, "service:mail", "send", agent="a", role="reader", effects=[MAIL]),
    "mail secret": lambda i: make_step(i, "service:mail", "send", agent="a", arguments={"to": ["XYZ"]}),
    "mail blocked": lambda i: make_step(
        i, "service:mail", "send", arguments={"to": "XYZ"}, decision=Decision(Mediation.BLOCK)
    ),
    "ticket": lambda i: make_step(i, "service:desk", "open", effects=[TICKET]),
    "detected": lambda i: make_note(i, "detected"),
    "detected there": lambda i: make_note(i, "detected", hook="service:orders[1]@r"),
    "mitigated": lambda i: make_note(i, "mitigated"),
}
PAID = Claim("pay", {"order": 1}, "service:bank[1]@a")
ENDS: dict[str, End] = {
    "finished": make_end(outcome=Outcome("done", success=True, claims=(PAID,))),
    "silent": make_end(outcome=Outcome(success=False)),
    "leaking": make_end(outcome=Outcome("the code is XYZ")),
    "crashed": make_end(Ending.CRASHED, detail="KeyError: 'id'"),
    "endless": make_end(Ending.LIVELOCK),
}
NOMINAL = Nominal((PAY, MAIL), Outcome(claims=(PAID,)))
SETTING = Setting(Task("t", labels=Labels(misuse=True, forbidden=("XYZ",), canaries=("XYZ",))), NOMINAL)


def unfinished(step: Step) -> float | None:
    return {"get": 2.0, "check": 1.0, "pay": 0.0, "send": 2.0}.get(step.operation)


NEED_SETTINGS = {"ordering", "least-privilege", "role-boundary"}
CONTRACTS: dict[str, Contract] = {
    **{name: factory() for name, factory in entries().items() if name not in NEED_SETTINGS},
    "never": never("send", id="never"),
    "always": always(lambda step: step.failure is None, id="always"),
    "within": within("get", "pay", steps=3, id="within"),
    "since": since("effect:pay", "get", steps=3, id="since"),
    "since same": since("pay", "check", same="order", id="since same"),
    "until": until(lambda step: step.operation != "pay", "check", must_come=True, id="until"),
    "count": count("get", at_most=2, at_least=1, id="count"),
    "at least": count("get", at_least=2, id="at least"),
    "ordering": Ordering(first="check", then="pay", same="order", steps=4),
    "verify": VerifyBeforeActing(steps=2, same="order"),
    "least-privilege": LeastPrivilege(allowed={"a": ("pay",), "r": "get"}, parameters={"pay": {"order": (1,)}}),
    "strict": LeastPrivilege(allowed={"r": "*", "a": "*"}, others="nothing"),
    "role-boundary": RoleBoundary(allowed={"reader": ("get",)}),
    "role share": RoleBoundary(allowed={"reader": ("get",)}, share_max=0.4),
    "progress": Progress(window=3),
    "potential": Progress(window=3, potential=unfinished),
    "contained": Containment(detected_steps=2, mitigated_steps=2, final=(AtMostOnce(),)),
    "leak": NoLeak(patterns=("X.Z",), interfaces=("orders.*",)),
    "supported": SupportedClaims(share_max=0.5),
}

words = st.lists(st.sampled_from(sorted(ALPHABET)), max_size=7)
ends = st.sampled_from(sorted(ENDS))
few = settings(max_examples=20)
every_contract = pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))


def play(run: Sequence[str], first: int = 0) -> list[Step]:
    return [ALPHABET[word](first + index) for index, word in enumerate(run)]


@every_contract
@few
@given(run=words, end=ends)
def test_margins_agree_with_the_verdict_and_never_rise(contract: Contract, run: list[str], end: str) -> None:
    readings = watch(contract, play(run), ENDS[end], SETTING)

    margins = [reading.margin for reading in readings[:-1]]
    assert margins == sorted(margins, reverse=True)
    for reading in readings:
        assert -1.0 <= reading.margin <= 1.0
        assert (reading.margin < 0.0) is (reading.verdict is Verdict.VIOLATED)
        assert (reading.verdict is Verdict.HOLDS) is (reading.reason == "")


@every_contract
@few
@given(run=words)
def test_a_violation_is_final(contract: Contract, run: list[str]) -> None:
    monitor = contract.monitor(SETTING)
    verdicts = [reading.verdict for step in play(run) if (reading := monitor.step(step)) is not None]

    assert sorted(verdicts) == verdicts


@every_contract
@few
@given(prefixes=st.lists(words, min_size=2, max_size=6), rest=words, end=ends)
def test_monitors_in_the_same_state_have_the_same_future(
    contract: Contract, prefixes: list[list[str]], rest: list[str], end: str
) -> None:
    seen = sorted((state_after(contract, prefix), future(contract, prefix, rest, end)) for prefix in prefixes)

    for _, group in groupby(seen, key=lambda pair: pair[0]):
        assert len({told for _, told in group}) == 1


@pytest.mark.slow
@every_contract
def test_all_runs_of_two_steps_in_the_same_state_have_the_same_future(contract: Contract) -> None:
    runs = [[], *([word] for word in ALPHABET), *([first, second] for first in ALPHABET for second in ALPHABET)]
    rests: list[list[str]] = [[], *([word] for word in ALPHABET)]
    seen = sorted((state_after(contract, run), run) for run in runs)
    compared = 0

    for _, group in groupby(seen, key=lambda pair: pair[0]):
        alike = [run for _, run in group]
        compared += len(alike) - 1
        for rest in rests:
            for end in ENDS if not rest else ["finished", "leaking"]:
                assert len({future(contract, run, rest, end) for run in alike}) == 1, (alike, rest, end)
    assert compared, "no two runs share a state: this test would not notice anything"


@every_contract
@few
@given(run=words, end=ends)
def test_steps_that_a_monitor_says_it_need_not_see_change_nothing(contract: Contract, run: list[str], end: str) -> None:
    seeing_all, seeing_some = contract.monitor(SETTING), contract.monitor(SETTING)
    looks = getattr(seeing_some, "looks", Looks.EVERY_STEP)

    told: list[Reading | None] = []
    told_of_some: list[Reading | None] = []
    for step in play(run):
        told.append(seeing_all.step(step))
        sees = looks is Looks.EVERY_STEP or (looks is Looks.EFFECTS and bool(step.effects))
        told_of_some.append(seeing_some.step(step) if sees else None)

    assert told_of_some == told
    assert pack(seeing_some.state()) == pack(seeing_all.state())
    assert seeing_some.end(ENDS[end]) == seeing_all.end(ENDS[end])


@pytest.mark.parametrize("name", sorted(set(CONTRACTS) - {"always", "until"}))
def test_a_contract_survives_pickling(name: str) -> None:
    assert pickle.loads(pickle.dumps(CONTRACTS[name])) == CONTRACTS[name]


@every_contract
def test_a_run_without_steps_that_finishes_breaks_only_what_asks_for_steps(contract: Contract) -> None:
    finished = make_end(outcome=Outcome(success=True))
    asks_for_steps = {"until", "count", "at least"}

    verdict = watch(contract, [], finished, SETTING)[-1].verdict

    assert verdict is (Verdict.VIOLATED if contract.id in asks_for_steps else Verdict.HOLDS)


def state_after(contract: Contract, run: Sequence[str]) -> bytes:
    monitor, broken = fed(contract, run)
    return b"violated" if broken else pack(monitor.state())


def fed(contract: Contract, run: Sequence[str]) -> tuple[Monitor, bool]:
    """Return a monitor after some steps, and whether it is violated; as in a run, it is left alone after that."""
    monitor = contract.monitor(SETTING)
    for step in play(run):
        reading = monitor.step(step)
        if reading is not None and reading.verdict is Verdict.VIOLATED:
            return monitor, True
    return monitor, False


def future(contract: Contract, run: Sequence[str], rest: Sequence[str], end: str) -> int:
    """Return at which step of the rest a contract is violated; -1 before, behind the end if it holds."""
    monitor, broken = fed(contract, run)
    if broken:
        return -1
    for index, step in enumerate(play(rest, len(run))):
        reading = monitor.step(step)
        if reading is not None and reading.verdict is Verdict.VIOLATED:
            return index
    return len(rest) + (monitor.end(ENDS[end]).verdict is not Verdict.VIOLATED)
