"""Provenance: what an outcome was derived from, and what a run tells a searcher of it."""

from __future__ import annotations

from chaosagent.execution.run.outcome import origins
from chaosagent.faults.evaluation_codec import decode_evaluation, encode_evaluation
from chaosagent.faults.injection import Place
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.trace.step import Link
from tests.lab.targets.derivations import Derivations

CASE = Derivations(3, ((0, 1), (2,)), True, 1, False, CostModel(), 1)


def test_an_outcome_is_derived_from_what_it_is_linked_to_directly_or_through_others() -> None:
    links = [
        Link("outcome", "derived_from", "plan"),
        Link("plan", "derived_from", "service:a[1]"),
        Link("service:b[1]", "supports", "plan"),
        Link("service:c[1]", "returns", "table"),
        Link("plan", "derived_from", "outcome"),
        Link("service:d[1]", "supports", "service:e[1]"),
    ]

    assert origins(links) == {"plan", "service:a[1]", "service:b[1]", "outcome"}
    assert origins(links, "table") == {"service:c[1]"}
    assert origins([]) == frozenset()


def test_a_run_names_the_calls_that_its_outcome_was_derived_from() -> None:
    bench = CASE.bench()

    lost = parse("service:s1[1] service.lost_response(when=before)")
    both = parse(f"{lost.text}; service:s0[2] service.lost_response(when=before)")
    spare = parse(f"{both.text}; service:spare[1] service.lost_response(when=before)")

    assert bench.run(EMPTY).support == (Place("service:s0", "", 1), Place("service:s1", "", 1))
    assert bench.run(lost).support == (Place("service:s0", "", 2),)
    assert bench.run(both).support == (Place("service:spare", "", 1),)
    assert bench.run(spare).support == ()


def test_what_supports_an_outcome_is_stored() -> None:
    for schedule in (EMPTY, parse("service:s1[1] service.lost_response(when=before)")):
        evaluation = CASE.bench().run(schedule)

        assert decode_evaluation(encode_evaluation(evaluation)) == evaluation
