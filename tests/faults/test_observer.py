"""What a policy sees of a run can be worked out again from what the run told."""

from __future__ import annotations

import pytest

from chaosagent.canonical import pack
from chaosagent.faults.injection import Place
from chaosagent.faults.observer import EXACT_MAX, Observation, Observer, visible_size
from chaosagent.vocabulary import Boundary, Failure

REQUEST = pack(["get", {"order": 7}])


def heard(response: bytes) -> Observation:
    observer = Observer()
    observer.ask(Place("service:crm", "", 1), Boundary.SERVICE, REQUEST)
    observer.hear("service:crm", response)
    return observer.ask(Place("service:crm", "", 2), Boundary.SERVICE, REQUEST)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"id": 1}, "map 7"),
        ([1, 2], "list 5"),
        ("late", "text 7"),
        (None, "nothing 3"),
        (True, "flag 3"),
        (7, "number 3"),
        (-0.5, "number 11"),
        (b"raw", "bytes 7"),
        ("x" * 40, "text 64"),
        ({str(number): number for number in range(20)}, "map 128"),
    ],
)
def test_of_an_answer_it_hears_kind_and_size(value: object, kind: str) -> None:
    seen = heard(pack([value, None]))

    assert (seen.heard_from, seen.heard, seen.failures) == ("service:crm", kind, 0)


def test_of_a_failure_it_hears_the_kind() -> None:
    seen = heard(pack([None, tuple(Failure("timeout", "no answer within 30 s"))]))

    assert (seen.heard, seen.failures) == ("failure timeout", 1)


def test_it_sees_what_is_asked_and_how_often_before() -> None:
    seen = heard(pack([1, None]))

    assert (seen.operation, seen.request_size, seen.rank) == ("get", len(REQUEST), 1)


def test_large_sizes_are_seen_roughly() -> None:
    assert [visible_size(b"x" * size) for size in (0, EXACT_MAX, EXACT_MAX + 1, 64, 65, 1_000)] == [
        0,
        32,
        64,
        64,
        128,
        1_024,
    ]


def test_it_forgets_failures_after_some_answers() -> None:
    observer = Observer()
    observer.hear("service:crm", pack([None, tuple(Failure("timeout", ""))]))
    counts = []
    for number in range(1, 6):
        observer.hear("service:crm", pack([number, None]))
        counts.append(observer.ask(Place("service:crm", "", number), Boundary.SERVICE, REQUEST).failures)

    assert counts == [1, 1, 1, 0, 0]
