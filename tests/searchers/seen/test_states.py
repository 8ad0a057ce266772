"""What runs with many faults have shown of states: it spares runs, and no bound that rests on it is untrue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection
from chaosagent.faults.schedule import Schedule, parse, schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.anytime import AnytimeSearcher
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.searchers.seen import states as module
from chaosagent.searchers.seen.course import START
from chaosagent.searchers.seen.points import Expander
from chaosagent.searchers.seen.states import States
from chaosagent.seeds import derive
from chaosagent.study.searcher import Searcher
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Run, target
from chaosagent.testing.bench import Bench, TooLargeError
from chaosagent.testing.enumeration import drive
from chaosagent.vocabulary import Outcome, Task
from tests.lab.targets.programs import target_of
from tests.lab.targets.random_cases import COST_PAIR, needles, random_case
from tests.thorough import cases

LOST = "service.lost_response(when=before)"
MAKERS: list[Callable[..., Searcher]] = [ExactSearcher, AnytimeSearcher]


@target(name="three", tasks=[Task("t")])
async def three(_: Task, run: Run) -> Outcome:
    """Asks three services, and cannot do without the last two."""
    missing: list[Any] = []
    for name in ("one", "two", "three"):
        service = run.service(name, {"get": lambda: 1}, read_only=True)
        try:
            await service("get")
        except ConnectionError:
            missing += [name] if name != "one" else []
        run.checkpoint(name, list(missing), clock_matters=False, artifacts_matter=False)
    return Outcome("done", success=len(missing) < 2)


@target(name="hurried", tasks=[Task("t")])
async def hurried(_: Task, run: Run) -> Outcome:
    """Waits for the second service only if the first has answered."""

    async def slow() -> int:
        await asyncio.sleep(5.0)
        return 1

    first, second = run.service("s0", {"get": lambda: 1}), run.service("s1", {"get": slow})
    run.checkpoint("start", [])
    late = refused = False
    try:
        await first("get")
    except ConnectionError:
        late = True
    with contextlib.suppress(TimeoutError):
        try:
            async with asyncio.timeout(1.0 if late else None):
                await second("get")
        except ConnectionError:
            refused = True
    return Outcome("done", success=not (late and refused))


@target(name="flags", tasks=[Task("t")])
async def flags(_: Task, run: Run) -> Outcome:
    """Is broken by one fault, and by a pair whose first half another fault can take the place of."""
    done = dict.fromkeys(("s0", "s1", "s2"), 0)

    async def call(name: str) -> bool:
        def get() -> int:
            done[name] += 1
            return 1

        try:
            await run.service(name, {"get": get})("get")
        except ConnectionError:
            return False
        return True

    bad = flag = False
    run.checkpoint("0", [], clock_matters=False)
    if not await call("s0"):
        flag, bad = not done["s0"], bool(done["s0"])
    run.checkpoint("1", [bad, flag], clock_matters=False)
    flag = not await call("s1") or flag
    run.checkpoint("2", [bad, flag], clock_matters=False)
    lost = not await call("s2")
    return Outcome("done", success=not (bad or (flag and lost)))


def bench_of(of: Any) -> Bench:
    more = [Choices("service.field_corruption", {"kind": ("null",), "field": ("*",)}, interfaces=("service:s1",))]
    return Bench(
        of, [parse_contract("objective")], Space([Choices("service.lost_response", {"when": ("before",)}), *more])
    )


def test_one_run_answers_for_schedules_with_one_of_its_faults_where_those_leave_nothing_behind() -> None:
    bench = bench_of(three)
    states = States(0, bench.space.model, 0)
    nominal = bench.run(parse(""))
    states.take(nominal)
    (at_two,) = [crossing for crossing in nominal.crossings if crossing.place.interface == "service:two"]
    (missing,) = parse(f"service:two[1] {LOST}")

    assert states.foresee(nominal, at_two.asked, missing) is None
    both = bench.run(parse(f"service:one[1] {LOST}; service:two[1] {LOST}"))
    assert states.take(both)
    alone = bench.run(parse(f"service:two[1] {LOST}"))
    shown = states.foresee(nominal, at_two.asked, missing)
    assert shown is not None
    assert shown.next_state == states.course(alone).marks[2].state != states.course(nominal).marks[2].state


def test_what_left_nothing_behind_is_no_part_of_the_way_to_a_state() -> None:
    bench = bench_of(three)
    states = States(0, bench.space.model, 0)
    for text in ("", f"service:one[1] {LOST}; service:two[1] {LOST}; service:three[1] {LOST}"):
        states.take(bench.run(parse(text)))
    broken = bench.run(parse(text))

    assert states.path(START) is not None
    assert states.core(broken) == parse(f"service:two[1] {LOST}; service:three[1] {LOST}")


@pytest.mark.parametrize("known_max", [1, module.KNOWN_MAX])
def test_a_run_that_others_have_shown_in_parts_is_foretold(known_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KNOWN_MAX", known_max)
    bench = bench_of(three)
    states = States(0, bench.space.model, 0)
    pair = parse(f"service:two[1] {LOST}; service:three[1] {LOST}")
    states.take(bench.run(parse("")))
    states.take(bench.run(parse(f"service:one[1] {LOST}; service:two[1] {LOST}")))
    assert states.foretold(pair) is None

    states.take(bench.run(parse(f"service:one[1] {LOST}; service:two[1] {LOST}; service:three[1] {LOST}")))

    foretold = states.foretold(pair)
    assert foretold is not None
    assert violates(states.run_of(foretold), "objective")
    assert states.foretold(parse(f"service:one[1] {LOST}")) is not None
    assert states.foretold(parse(f"service:three[1] {LOST}")) is None


def test_what_may_act_at_any_agents_call_is_not_foretold_where_agents_have_names() -> None:
    @target(name="named", tasks=[Task("t")])
    async def named(_: Task, run: Run) -> Outcome:
        with run.agent("planner"):
            await run.service("one", {"get": lambda: 1}, read_only=True)("get")
        run.checkpoint("end", [], clock_matters=False, artifacts_matter=False)
        return Outcome("done", success=True)

    bench = bench_of(named)
    states = States(0, bench.space.model, 0)
    states.take(bench.run(parse("")))

    assert states.foretold(parse(f"service:two[1]@planner {LOST}")) is not None
    assert states.foretold(parse(f"service:two[1] {LOST}")) is None


def test_what_may_act_at_several_calls_is_not_foretold() -> None:
    bench = bench_of(three)
    states = States(0, bench.space.model, 0)
    states.take(bench.run(parse("")))

    assert states.foretold(parse(f"service:four[1] {LOST}")) is not None
    assert states.foretold(parse(f"service:one[2] {LOST}")) is not None
    assert states.foretold(parse(f"service:four[*] {LOST}")) is None
    assert states.foretold(parse(f"service:one[2..3] {LOST}")) is None


def test_equal_states_that_end_otherwise_contradict_each_other() -> None:
    @target(name="moody", tasks=[Task("t")])
    async def moody(_: Task, run: Run) -> Outcome:
        refused = False
        try:
            await run.service("one", {"get": lambda: 1}, read_only=True)("get")
        except ConnectionError:
            refused = True
        run.checkpoint("end", [], clock_matters=False, artifacts_matter=False)
        return Outcome("done", success=not refused)

    bench = bench_of(moody)
    states = States(0, bench.space.model, 0)

    assert states.take(bench.run(parse("")))
    assert not states.take(bench.run(parse(f"service:one[1] {LOST}")))


@pytest.mark.slow
@cases(60)
@given(seed=st.integers(0, 2**32))
def test_what_is_foretold_of_a_schedule_is_what_its_run_does(seed: int) -> None:
    foretold_rightly(seed)


def test_much_is_foretold() -> None:
    assert sum(foretold_rightly(seed) for seed in range(5)) > 50


def foretold_rightly(seed: int) -> int:
    """Return how many of some schedules are foretold before they are run, all of them as they then run."""
    program, choices, name, number, _ = random_case(seed)
    bench = Bench(target_of(program), needles(number), Space(choices))
    try:
        bench.minimum(name, COST_PAIR)
    except TooLargeError:
        assume(False)
    asked = list(bench.executed)
    monitor = bench.problem(name, COST_PAIR).monitor
    states = States(monitor, bench.space.model, 0)
    for dense in ("", *map(str, dense_schedules(bench, seed))):
        states.take(bench.run(parse(dense)))
    derive(seed, "order").shuffle(asked)
    count = 0

    for one in asked[:100]:
        foretold, ran = states.foretold(one), bench.run(one)
        if foretold is not None:
            count += 1
            shown = states.run_of(foretold)
            assert shown.verdicts[monitor].verdict is ran.verdicts[monitor].verdict
            assert shown.ending is ran.ending
        states.take(ran)
    return count


@pytest.mark.parametrize("make", MAKERS)
def test_a_fault_that_was_armed_and_never_acted_keeps_no_other_from_its_place(make: Callable[..., Searcher]) -> None:
    bench = bench_of(hurried)
    searcher = make(bench.problem("objective", 2.4))
    searcher.tell(bench.run(parse(f"service:s0[1] {LOST}; service:s1[1] service.field_corruption(kind=null)")))

    drive(searcher, bench.run)

    assert searcher.progress.lower_bound == bench.minimum("objective", 2.4) == 2.2


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("lookahead", [1, 4])
def test_a_state_reached_in_two_ways_hides_no_minimal_counterexample(make: Callable[..., Any], lookahead: int) -> None:
    space = Space([Choices("service.lost_response", {"when": ("after", "before")})])
    bench = Bench(flags, [parse_contract("objective")], space)
    for number in range(5):
        searcher = make(bench.problem("objective", 2.4, all_minimal=True, search_seed=number))
        found = MinimalSets(space.model)
        for one in told_of(searcher, bench, lookahead):
            if violates(one, "objective"):
                found.add(one.effective)

        assert len(found) == 2


@pytest.mark.parametrize("make", MAKERS)
def test_of_how_many_runs_courses_are_remembered_changes_nothing_that_is_asked(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Space([Choices("service.lost_response", {"when": ("after", "before")})])
    bench = Bench(flags, [parse_contract("objective")], space)

    def asked() -> list[Schedule]:
        searcher = make(bench.problem("objective", 2.4, all_minimal=True))
        return [one.schedule for one in told_of(searcher, bench, 1)]

    with_room = asked()
    monkeypatch.setattr(module, "COURSES_MAX", 1)

    assert asked() == with_room
    assert len(with_room) > 5


def told_of(searcher: Searcher, bench: Bench, lookahead: int) -> list[Evaluation]:
    """Drive a searcher to its end, and return what it was told."""
    told: list[Evaluation] = []

    def run(asked: Schedule) -> Evaluation:
        told.append(bench.run(asked))
        return told[-1]

    drive(searcher, run, lookahead=lookahead)
    return told


@pytest.mark.slow
@cases(60)
@given(seed=st.integers(0, 2**32), make=st.sampled_from(MAKERS))
def test_whatever_dense_runs_were_told_first_the_bound_is_that_of_enumeration(seed: int, make: Any) -> None:
    program, choices, name, number, lookahead = random_case(seed)
    bench = Bench(target_of(program), needles(number), Space(choices))
    try:
        truth = bench.minimum(name, COST_PAIR)
    except TooLargeError:
        assume(False)
    searcher = make(bench.problem(name, COST_PAIR))
    best = [truth] if truth is not None else []
    for dense in dense_schedules(bench, seed):
        evaluation = bench.run(dense)
        searcher.tell(evaluation)

    drive(searcher, bench.run, lookahead=lookahead)

    bound = searcher.progress.lower_bound
    assert searcher.progress.contradictions == 0
    assert bound >= min(best, default=COST_PAIR)
    assert truth is None or bound <= truth


def dense_schedules(bench: Bench, seed: int) -> list[Schedule]:
    """Return a few schedules with a fault at most of the places of the run without injections."""
    rng = derive(seed, "dense")
    found = Expander(bench.space, 0, dry=False).expand(bench.run(parse("")), after=-1)
    made = []
    for share in (1.0, 0.7, 0.5, 0.3):
        chosen: dict[Any, Injection] = {}
        for candidate in rng.sample(found.candidates, len(found.candidates)):
            if rng.random() < share:
                chosen.setdefault(candidate.injection.hook, candidate.injection)
        made.append(schedule(chosen.values()))
    return made
