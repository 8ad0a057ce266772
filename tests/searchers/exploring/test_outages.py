"""Outages: a call fails at every attempt, those first that the target asks again, and none twice before all had one."""

from __future__ import annotations

import random

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, Place, inject
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.operators.service.delay import Delay
from chaosagent.operators.service.lost_response import LostResponse
from chaosagent.searchers.exploring.outages import ATTEMPTS_MORE, Outages
from chaosagent.searchers.exploring.sites import Site, call_of

CRM = "service:crm"


def fault(occurrence: int, attempt: int = 0, operator: Delay | LostResponse | None = None) -> Injection:
    return inject(Hook(CRM, "", occurrence, occurrence, attempt), operator or Delay())


def site(occurrence: int, attempt: int = 0, *needs: Injection) -> Site:
    here = [fault(occurrence, attempt), fault(occurrence, attempt, LostResponse())]
    return Site(Place(CRM, "", occurrence, attempt), schedule_of(needs), here)


def struck(outages: Outages, sites: list[Site], seed: int) -> list[Injection]:
    """Return an outage that was drawn, and tell of its run."""
    drawn = list(outages.draw(sites, random.Random(seed)))
    outages.learn(Evaluation(schedule_of(drawn), effective=schedule_of(drawn[:1])))
    return drawn


def test_an_outage_strikes_one_call_at_more_attempts_than_were_seen() -> None:
    sites = [site(1), site(1, 1, fault(1)), site(2)]

    drawn = list(Outages().draw(sites, random.Random(0)))

    assert len({call_of(one.place) for one in drawn}) == 1
    assert [one.place.attempt for one in drawn] == list(range(1 + ATTEMPTS_MORE + 1))
    assert len({one.operator_name for one in drawn}) == 1


def test_each_call_is_struck_once_before_any_is_struck_again() -> None:
    outages, sites = Outages(), [site(number) for number in range(1, 8)]
    for one in sites:
        outages.add(call_of(one.place))

    calls = [call_of(struck(outages, sites, number)[0].place) for number in range(7)]

    assert len(set(calls)) == 7
    assert not outages.has_unstruck


def test_what_was_asked_again_comes_first_and_once() -> None:
    asked_again = fault(3, operator=LostResponse())
    outages, sites = Outages(), [*(site(number) for number in range(1, 8)), site(3, 1, asked_again)]
    for one in sites:
        outages.add(call_of(one.place))

    first, second = (struck(outages, sites, number) for number in (1, 2))

    assert {(one.place.occurrence, one.operator_name) for one in first} == {(3, asked_again.operator_name)}
    assert {one.place.occurrence for one in second} != {3}


def test_a_few_faults_at_a_call_are_no_outage() -> None:
    outages = Outages()
    outages.add(call_of(fault(1).place))

    for count in range(ATTEMPTS_MORE + 1):
        asked = schedule_of(fault(1, attempt) for attempt in range(count))
        outages.learn(Evaluation(asked, effective=EMPTY))
        assert outages.has_unstruck


def test_behind_all_that_whole_interfaces_are_struck_too() -> None:
    outages, sites = Outages(), [site(1), site(2)]
    for one in sites:
        outages.add(call_of(one.place))
    for number in range(2):
        struck(outages, sites, number)

    spans = [{one.place.occurrence for one in outages.draw(sites, random.Random(seed))} for seed in range(60)]

    assert {1, 2} < max(spans, key=len)
    assert {1} in spans
    assert {2} in spans
