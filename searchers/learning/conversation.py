"""A talk with something that wants to drive: it runs in a thread of its own, and stands still while a question is open.

So an engine that calls a function and waits for what it returns can be asked and told. Only one side runs at a time, so
what happens follows from the answers alone.
"""

from __future__ import annotations

import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class EndedError(BaseException):
    """The talk is over; not an `Exception`, so that what drives passes it on."""


class Conversation(Generic[Question, Answer]):
    """Runs a function that asks questions, up to each of them.

    What the function's libraries change for the whole process meanwhile, such as the state of `random` and of
    `numpy.random`, and the recursion limit, is as before whenever a method has returned.

    Args:
        talk: Gets a function that asks a question and returns the answer. It must not hold this object, nor what holds
            it: the thread ends when this object is dropped.
    """

    def __init__(self, talk: Callable[[Callable[[Question], Answer]], None]) -> None:
        self._line: _Line[Question, Answer] = _Line()
        self._close = weakref.finalize(self, self._line.close)
        self._close.atexit = False  # the thread is a daemon
        thread = threading.Thread(target=self._line.run, args=(talk,), name="conversation", daemon=True)
        self._line.thread = thread

    def start(self) -> Question | None:
        """Return the first question; `None` when the function asks none.

        Raises:
            Exception: Whatever the function raised.
        """
        return self._line.go_on(start=True)

    def tell(self, answer: Answer) -> Question | None:
        """Answer the open question and return the next one; `None` when the function has ended.

        Raises:
            Exception: Whatever the function raised.
        """
        self._line.answer = answer
        return self._line.go_on(start=False)

    def close(self) -> None:
        """End the thread, wherever it is."""
        self._close()


class _Line(Generic[Question, Answer]):
    """What both sides hold.

    Attributes:
        answer: The last one.
        thread: The other side.
    """

    answer: Answer
    thread: threading.Thread

    def __init__(self) -> None:
        self._question: Question | None = None
        self._is_over = False
        self._error: BaseException | None = None
        self._limit: int | None = None
        self._other_side = threading.Semaphore(0)
        self._this_side = threading.Semaphore(0)

    def run(self, talk: Callable[[Callable[[Question], Answer]], None]) -> None:
        """Be the other side."""
        try:
            talk(self._ask)
        except EndedError:
            pass
        except BaseException as error:  # it is raised again on this side
            self._error = error
        self._question = None
        self._is_over = True
        self._this_side.release()

    def _ask(self, question: Question) -> Answer:
        if self._is_over:
            raise EndedError
        self._question = question
        self._this_side.release()
        self._other_side.acquire()
        if self._is_over:
            raise EndedError
        return self.answer

    def go_on(self, *, start: bool) -> Question | None:
        """Let the other side run up to its next question."""
        with self._as_it_was():
            if start:
                self.thread.start()
            else:
                self._other_side.release()
            self._this_side.acquire()
            if self._is_over:
                self.thread.join()  # so that nothing of it is left when the caller knows that it has ended
        if self._error is not None:
            raise self._error
        return self._question

    def close(self) -> None:
        """Let the other side end.

        Not when called there: the garbage collector drops what lies in a cycle in any thread, also in one that has
        asked and does not stand still yet. It cannot wait for itself, and would unwind beside whoever goes on; so it
        is left to stand still.
        """
        if self._is_over or not self.thread.is_alive() or self.thread is threading.current_thread():
            return
        self._is_over = True
        with self._as_it_was():
            self._other_side.release()
            self.thread.join()

    @contextmanager
    def _as_it_was(self) -> Iterator[None]:
        """Let the other side find its recursion limit, and set back what it changes for the whole process."""
        limit, state = sys.getrecursionlimit(), random.getstate()
        numpy = sys.modules.get("numpy")
        numpy_state = None if numpy is None else numpy.random.get_state()
        if self._limit is not None and self._limit > limit:
            sys.setrecursionlimit(self._limit)
        try:
            yield
        finally:
            random.setstate(state)
            if numpy is not None:
                numpy.random.set_state(numpy_state)
            self._limit = sys.getrecursionlimit()
            sys.setrecursionlimit(limit)
