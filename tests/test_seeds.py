"""Random streams follow from seed and label, and from nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.seeds import Streams, derive, derive_seed

LABELS = st.lists(st.text(max_size=5) | st.integers(), max_size=3)


def test_the_same_seed_and_label_draw_the_same_numbers() -> None:
    one, other = derive(7, "operator", "service:crm[2]"), derive(7, "operator", "service:crm[2]")

    assert [one.random() for _ in range(3)] == [other.random() for _ in range(3)]


def test_what_a_stream_draws_is_the_same_in_every_process_and_version() -> None:
    assert derive_seed(0, "operator", 1) == 181742395000862409500380178288890175392


@given(st.integers(), st.integers(), LABELS, LABELS)
def test_other_seeds_and_other_labels_are_other_streams(
    seed: int, other_seed: int, labels: list[str | int], other_labels: list[str | int]
) -> None:
    same = seed == other_seed and labels == other_labels

    assert (derive_seed(seed, *labels) == derive_seed(other_seed, *other_labels)) == same


@given(st.integers(), LABELS, st.integers())
def test_streams_by_number_are_those_of_the_label_with_the_number_behind(
    seed: int, labels: list[str | int], number: int
) -> None:
    assert Streams(seed, *labels).at(number).random() == derive(seed, *labels, number).random()


def test_labels_do_not_run_into_each_other() -> None:
    assert derive_seed(1, "a", "b") != derive_seed(1, "ab")
    assert derive_seed(1, "1") != derive_seed(1, 1)
    assert derive_seed(1, "a\0str:b") != derive_seed(1, "a", "b")


def test_a_label_may_hold_lone_surrogates() -> None:
    assert derive_seed(1, "\ud800") != derive_seed(1, "\ud801")
