"""Interrupts are held back while a process is being started, whichever thread hears of them."""

import os
import signal
import threading

import pytest

from chaosagent.execution.workers.process_tree import hold_interrupts


def test_an_interrupt_that_another_thread_hears_of_is_held_back_to_the_end() -> None:
    as_started = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
    over = threading.Event()
    listener = threading.Thread(target=over.wait)  # its mask lets the signal through, so the system may choose it
    listener.start()
    reached: list[str] = []

    def start() -> None:
        with hold_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1_000):
                reached.append("started")
        for _ in range(3_000):  # the thread that was told of it may not have come to passing it on
            over.wait(0.01)
        reached.append("not reached")

    try:
        with pytest.raises(KeyboardInterrupt):  # an interrupt has no message
            start()
    finally:
        signal.signal(signal.SIGINT, as_started)
        over.set()
        listener.join()

    assert reached == ["started"] * 1_000


def test_handlers_are_as_they_were_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    with hold_interrupts():
        pass

    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
