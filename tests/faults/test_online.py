"""Policies choose within their budget, by draws that follow from names, and never what they must not."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import pytest

from chaosagent.canonical import pack
from chaosagent.faults.crossing import Request
from chaosagent.faults.dry import pack_request
from chaosagent.faults.injection import Place
from chaosagent.faults.observer import Observation, Observer
from chaosagent.faults.online import Player, Policy, Scores, contexts, plain_choices
from chaosagent.faults.operator import CostModel
from chaosagent.faults.space import Choices, Space
from chaosagent.vocabulary import Boundary

SPACE = Space(
    [
        Choices("service.timeout", {"when": ("before",)}, interfaces=("service:crm",)),
        Choices("service.lost_response", {}, agents=("planner",)),
        Choices("service.delay", {"seconds": (5.0, 60.0)}),
    ],
    CostModel(c_hook=1.0, c_mag=0.5),
)


def policy(**changes: object) -> Policy:
    made = Policy("kept 1.0", 3, plain_choices(SPACE), SPACE.model, budget=2.6, threshold=-10.0)
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def seen_at(*places: Place) -> list[Observation]:
    observer = Observer()
    return [observer.ask(place, Boundary.SERVICE, pack_request(Request("get", {}))) for place in places]


PLACES = seen_at(*(Place("service:crm", "planner", number) for number in range(1, 9)))


def chosen_by(made: Policy, seen: list[Observation] = PLACES) -> list[str]:
    player = Player(Scores(made, 0))
    for observation in seen:
        player.choose(observation)
    return [str(injection) for injection in player.chosen]


def test_what_it_chooses_lies_within_budget_and_space() -> None:
    for seed in range(40):
        player = Player(Scores(policy(seed=seed), 0))
        for observation in PLACES:
            player.choose(observation)

        costs = [SPACE.model.of(injection.operator) for injection in player.chosen]
        allowed = [priced.operator for priced in SPACE.at(Boundary.SERVICE, "service:crm", "planner")]

        assert len(costs) >= 1
        assert sum(costs) <= 2.6
        assert all(injection.operator in allowed for injection in player.chosen)


def test_a_threshold_above_all_weights_keeps_it_from_choosing() -> None:
    assert chosen_by(policy(threshold=10.0)) == []


def test_other_seeds_and_other_names_choose_otherwise() -> None:
    by_seed = {tuple(chosen_by(policy(seed=seed, threshold=0.3))) for seed in range(20)}
    by_name = {tuple(chosen_by(policy(name=str(number), threshold=0.3))) for number in range(20)}

    assert len(by_seed) > 10
    assert len(by_name) > 10


def test_its_weights_do_not_depend_on_the_order_of_looking() -> None:
    forwards, backwards = Scores(policy(), 0), Scores(policy(), 0)

    first = [forwards.of(seen) for seen in PLACES]
    second = [backwards.of(seen) for seen in reversed(PLACES)]

    assert first == second[::-1]


def test_it_is_plain_data_and_travels() -> None:
    made = policy(weights=(("o", ((0, 0.5, 0.1),)),), barred=(("service:crm[1]@planner", (1, 2)),))

    moved = pickle.loads(pickle.dumps(made))

    assert moved == made
    assert hash(moved) == hash(made)
    assert pack(moved) == pack(made)
    assert chosen_by(moved) == chosen_by(made)


def test_it_chooses_what_it_has_learned() -> None:
    known = (("i service:crm", ((1, 5.0, 0.0),)),)

    chosen = chosen_by(policy(weights=known, threshold=2.0))

    assert [text.split()[1] for text in chosen] == ["service.lost_response(when=before)"] * len(chosen)
    assert chosen


def test_it_reacts_to_what_it_has_heard() -> None:
    known = (("h service:crm service:orders list 4", ((0, 5.0, 0.0),)),)
    observer = Observer()
    request = pack_request(Request("get", {}))
    seen = []
    for number, answer in enumerate(["quiet", [1], "quiet"], start=1):
        observer.ask(Place("service:orders", "", number), Boundary.SERVICE, request)
        observer.hear("service:orders", pack([answer, None]))
        seen.append(observer.ask(Place("service:crm", "", number), Boundary.SERVICE, request))

    assert seen[1].heard == "list 4"
    assert chosen_by(policy(weights=known, threshold=2.0), seen) == [
        "service:crm[2] service.timeout(seconds=30.0, when=before)"
    ]


def test_what_is_barred_at_a_place_is_not_chosen_there() -> None:
    everywhere = tuple((str(seen.place), (0, 1, 2, 3, 4)) for seen in PLACES[:-1])

    chosen = chosen_by(policy(barred=everywhere))

    assert len(chosen) == 1
    assert chosen[0].startswith("service:crm[8]@planner")


def test_a_known_counterexample_is_not_completed() -> None:
    hooks = [str(seen.place) for seen in PLACES[:2]]
    blocked = ((hooks[0], 1.0), (hooks[1], 1.0))

    free, kept = chosen_by(policy(), PLACES[:2]), chosen_by(policy(blocked=(blocked,)), PLACES[:2])

    assert len(free) == 2
    assert kept == free[:1]


def test_a_cheaper_injection_at_a_hook_of_a_known_counterexample_may_be_chosen() -> None:
    hook = str(PLACES[0].place)

    chosen = chosen_by(policy(blocked=(((hook, 9.0),),)), PLACES[:1])

    assert len(chosen) == 1


@pytest.mark.parametrize("attempt", [0, 1])
def test_every_context_has_a_deviation(attempt: int) -> None:
    seen = PLACES[0]._replace(injected="service:crm service.delay", place=PLACES[0].place._replace(attempt=attempt))

    assert {key[0] for key in contexts(seen)} == set("oipdhfj")


def test_draws_look_like_a_standard_normal_variable() -> None:
    drawn = [
        score
        for seed in range(300)
        for score, _ in Scores(policy(seed=seed, spread=1.0), seed).of(random.Random(seed).choice(PLACES))
    ]
    mean = sum(drawn) / len(drawn)
    deviation = (sum((one - mean) ** 2 for one in drawn) / len(drawn)) ** 0.5

    assert abs(mean) < 0.05
    assert 0.36 < deviation < 0.46  # the root of the sum of the squares of the six deviations is 0.40
