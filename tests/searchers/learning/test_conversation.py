"""What wants to drive stands still at each question, and leaves nothing behind."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

from chaosagent.searchers.learning.conversation import Conversation


def adding_up(ask: Callable[[str], int]) -> None:
    total = ask("first")
    ask(f"{total} and second")


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "conversation"}


def test_it_stops_at_each_question_until_it_is_answered() -> None:
    of_others = threads()
    talk = Conversation(adding_up)

    assert talk.start() == "first"
    assert talk.tell(7) == "7 and second"
    assert talk.tell(0) is None
    assert threads() <= of_others


def test_a_function_that_asks_nothing_has_no_question() -> None:
    def silent(ask: Callable[[str], int]) -> None:
        del ask

    assert Conversation(silent).start() is None


def test_what_the_function_raises_is_raised_where_it_was_waited_for() -> None:
    def failing(ask: Callable[[str], int]) -> None:
        raise ValueError(f"got {ask('what')}")

    talk = Conversation(failing)
    talk.start()

    with pytest.raises(ValueError, match="got 3"):
        talk.tell(3)


def test_the_thread_ends_when_the_talk_is_dropped() -> None:
    of_others = threads()
    talk = Conversation(adding_up)
    talk.start()
    assert len(threads() - of_others) == 1

    del talk
    gc.collect()

    assert threads() <= of_others


def test_what_the_garbage_collector_closes_in_the_thread_itself_stands_still() -> None:
    def closing(ask: Callable[[str], int]) -> None:
        talk.close()
        ask("first")

    talk = Conversation(closing)

    assert talk.start() == "first"
    assert talk.tell(0) is None


def test_what_is_closed_unwinds_through_handlers_of_exceptions() -> None:
    unwound = []

    def stubborn(ask: Callable[[str], int]) -> None:
        try:
            ask("first")
        except Exception:  # as engines do
            unwound.append("handled")
        finally:
            unwound.append("unwound")

    talk = Conversation(stubborn)
    talk.start()

    talk.close()

    assert unwound == ["unwound"]


def test_the_state_of_the_process_is_as_before() -> None:
    limit = sys.getrecursionlimit()

    def meddling(ask: Callable[[str], int]) -> None:
        random.Random  # noqa: B018
        random.setstate(random.Random(0).getstate())
        np.random.set_state(np.random.RandomState(0).get_state())  # noqa: NPY002
        sys.setrecursionlimit(limit + 500)
        try:
            ask("first")
        finally:
            random.setstate(random.Random(1).getstate())

    def state() -> tuple[object, str, int]:
        return random.getstate(), str(np.random.get_state()), sys.getrecursionlimit()  # noqa: NPY002

    before = state()
    talk = Conversation(meddling)
    states = []
    for step in (talk.start, talk.close):
        step()
        states.append(state())

    assert states == [before, before]
