"""What runs differ in says what most often makes it differ, whichever values were drawn."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from chaosagent.execution.workers.second_process import HASH_SEEDS, Variation, distinguishing_repeats, variation_of
from chaosagent.faults.chance_read import Chance, ChanceRead
from chaosagent.faults.difference import NO_CALL
from chaosagent.study.divergence import cause_of_cold_difference, likely_cause
from chaosagent.trace.diff import Difference


def _cause(expected: str, got: str) -> str:
    return likely_cause(Difference(0, "arguments", f"{{'v': {expected}}}", f"{{'v': {got}}}", "service:s[1]"))


def test_a_random_number_is_named_however_many_digits_it_has() -> None:
    rng = random.Random(3)

    def drawn() -> str:
        return str(rng.uniform(0.1, 1) / 10 ** rng.randrange(7))

    assert {_cause(drawn(), drawn())[:15] for _ in range(500)} == {"a generated id "}


@pytest.mark.parametrize(
    ("expected", "got", "cause"),
    [
        ("['a', 'b']", "['b', 'a']", "the order of a set"),
        ("'2026-01-01'", "'2026-01-02'", "the wall clock"),
        ("1", "2", "a random number"),
        ("0.25", "0.5", "a random number"),
    ],
)
def test_other_values_have_other_causes(expected: str, got: str, cause: str) -> None:
    assert _cause(expected, got).startswith(cause)


DIGESTS = Difference(2, NO_CALL, "1cea74ab38b8306f2d199ad802b35be0", "20f244e7d3454619a7aac1d52cd369cd")


def test_digests_of_runs_are_taken_for_no_random_numbers() -> None:
    assert likely_cause(DIGESTS).startswith("a random number not drawn from run.rng(label), or the wall clock")


@pytest.mark.parametrize(
    ("digest_of", "variation"),
    [
        (lambda number, round_: "a", Variation.NONE),  # noqa: ARG005
        (lambda number, round_: str(number % HASH_SEEDS // 4), Variation.HASH_SEED),  # noqa: ARG005
        (lambda number, round_: str(number), Variation.PROCESS),  # noqa: ARG005
        (lambda number, round_: str(number == 5 and round_ == 1), Variation.RUN),
    ],
)
def test_repeats_tell_the_hash_seed_from_the_process_and_from_chance(
    digest_of: Callable[[int, int], str], variation: Variation
) -> None:
    numbers = distinguishing_repeats(3, HASH_SEEDS)
    made = [(number, digest_of(number, numbers[:place].count(number))) for place, number in enumerate(numbers)]

    assert variation_of(made) is variation


@pytest.mark.parametrize(
    ("variation", "cause"),
    [
        (Variation.NONE, "what depends on earlier runs of the process"),
        (Variation.HASH_SEED, "the order of a set, or `hash()`"),
        (Variation.PROCESS, "something that differs between processes with the same hash seed"),
        (Variation.RUN, "something that differs from run to run, such as the address of an object"),
    ],
)
def test_how_a_run_varies_says_why(variation: Variation, cause: str) -> None:
    assert cause_of_cold_difference(DIGESTS, variation=variation).startswith(cause)


@pytest.mark.parametrize("variation", [Variation.NONE, Variation.PROCESS, Variation.RUN])
def test_what_a_varying_run_reads_is_named(variation: Variation) -> None:
    drawn = ChanceRead(Chance.RANDOM, "os.urandom()", "agent.py:12 in pay")

    told = cause_of_cold_difference(DIGESTS, variation=variation, reads=[drawn])

    assert told.startswith("random numbers not drawn from run.rng(label): os.urandom() at agent.py:12 in pay")


def test_a_variable_is_no_cause_of_what_differs_where_nothing_was_run_before() -> None:
    of_run = cause_of_cold_difference(DIGESTS, variation=Variation.RUN, changed=["CACHE in agent.py"])
    of_process = cause_of_cold_difference(DIGESTS, variation=Variation.NONE, changed=["CACHE in agent.py"])

    assert "CACHE" not in of_run
    assert "runs change CACHE in agent.py" in of_process
