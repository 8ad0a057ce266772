"""Which injection of a schedule acts at a place."""

from __future__ import annotations

from chaosagent.execution.run.injector import Injector
from chaosagent.faults.injection import Hook, Place, hook_at, inject
from chaosagent.faults.schedule import parse, schedule
from chaosagent.operators.memory.stale_read import StaleRead
from chaosagent.operators.service.timeout import Timeout
from chaosagent.vocabulary import Boundary

PAY = Place("service:pay", "", 1)


def test_an_operator_acts_only_at_its_boundaries() -> None:
    single = Injector(schedule([inject(hook_at(PAY), StaleRead())]))
    many = Injector(schedule([inject(Hook("service:pay", "", 1, None), StaleRead())]))

    assert single.at(PAY, Boundary.SERVICE) is None
    assert many.at(PAY, Boundary.SERVICE) is None
    timeout = inject(hook_at(PAY), Timeout())
    assert Injector(schedule([timeout])).at(PAY, Boundary.SERVICE) == timeout


def test_an_injection_at_one_place_acts_once_and_a_burst_each_time() -> None:
    injector = Injector(parse("service:pay[1] service.timeout; service:crm[2..] service.timeout"))
    crm = Place("service:crm", "", 2)

    assert [injector.at(PAY, Boundary.SERVICE) is not None for _ in range(2)] == [True, False]
    assert [injector.at(crm, Boundary.SERVICE) is not None for _ in range(2)] == [True, True]
    assert injector.at(crm._replace(occurrence=1), Boundary.SERVICE) is None


def test_each_of_several_injections_at_an_interface_acts_at_its_own_place() -> None:
    injector = Injector(
        parse("service:pay[1] service.timeout; service:pay[2] service.delay; service:crm[*] service.delay")
    )

    second = injector.at(PAY._replace(occurrence=2), Boundary.SERVICE)
    first = injector.at(PAY, Boundary.SERVICE)

    assert first is not None
    assert second is not None
    assert (first.operator_name, second.operator_name) == ("service.timeout", "service.delay")
    assert "service:pay" in injector.interfaces
    assert "service:crm" in injector.interfaces
    assert "service:other" not in injector.interfaces
