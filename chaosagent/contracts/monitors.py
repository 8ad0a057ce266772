"""The monitors of the temporal combinators, and others that templates are built of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from chaosagent.canonical import Plain, digest_of
from chaosagent.contracts.contract import HOLDS, End, Looks, Nominal, Reading, violated
from chaosagent.contracts.pattern import Predicate
from chaosagent.contracts.settings import BROKEN
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Impact, Verdict


class NeverWatch:
    """A predicate must not say `unwanted` at any step."""

    __slots__ = ("_broken", "_predicate", "_unwanted")

    def __init__(self, predicate: Predicate, *, unwanted: bool) -> None:
        self._predicate, self._unwanted, self._broken = predicate, unwanted, False

    def step(self, step: Step) -> Reading | None:
        if bool(self._predicate(step)) is not self._unwanted:
            return None
        self._broken = True
        what = "must not happen" if self._unwanted else "must hold at every step"
        return violated(f"{_called(self._predicate)} {what}; it {_did(self._unwanted)} at {step!r}")

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return HOLDS

    def state(self) -> Plain:
        return BROKEN if self._broken else None


class WithinWatch:
    """Every trigger is followed by a response, `steps` steps later at the latest."""

    __slots__ = ("_broken", "_margin", "_response", "_steps", "_trigger", "_waited")

    def __init__(self, trigger: Predicate, response: Predicate, steps: int) -> None:
        self._trigger, self._response, self._steps = trigger, response, steps
        self._waited = -1  # steps since the oldest open trigger; -1: none is open
        self._margin, self._broken = 1.0, False

    def step(self, step: Step) -> Reading | None:
        if self._waited < 0:
            if self._trigger(step):
                self._waited = 0
            return None
        if self._broken:
            return None
        self._waited += 1
        if self._response(step):
            margin = 1.0 - (self._waited - 1) / self._steps
            self._waited = 0 if self._trigger(step) else -1
            if margin < self._margin:
                self._margin = margin
                return Reading(Verdict.HOLDS, margin)
        elif self._waited >= self._steps:
            self._broken = True
            return violated(
                f"{_called(self._trigger)} was not followed by {_called(self._response)} within {self._steps} steps"
            )
        return None

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        if self._waited >= 0:
            return violated(f"the run ended and {_called(self._trigger)} was not followed by {_called(self._response)}")
        return Reading(Verdict.HOLDS, self._margin)

    def state(self) -> Plain:
        return BROKEN if self._broken else self._waited


class SinceWatch:
    """Every action is preceded by an earlier step, at most `steps` steps before it, that agrees in some arguments."""

    __slots__ = ("_action", "_broken", "_earlier", "_last", "_margin", "_now", "_same", "_steps")

    def __init__(
        self, action: Predicate, earlier: Predicate, steps: int | None = None, same: tuple[str, ...] = ()
    ) -> None:
        self._action, self._earlier, self._steps, self._same = action, earlier, steps, same
        self._last: dict[str, int] = {}  # by arguments, when the last earlier step was, oldest first
        self._now = -1
        self._margin, self._broken = 1.0, False

    def step(self, step: Step) -> Reading | None:
        self._now += 1
        reading = self._judge(step) if self._action(step) else None
        if self._earlier(step):
            key = self._key(step)
            self._last.pop(key, None)
            self._last[key] = self._now
            self._forget()
        return reading

    def _judge(self, step: Step) -> Reading | None:
        if self._broken:
            return None
        self._forget()
        last = self._last.get(self._key(step))
        if last is None:
            self._broken = True
            limit = "" if self._steps is None else f" in the {self._steps} steps before"
            same = f" with the same {', '.join(self._same)}" if self._same else ""
            return violated(f"{step!r} was not preceded by {_called(self._earlier)}{same}{limit}")
        margin = 1.0 if self._steps is None else 1.0 - (self._now - last - 1) / self._steps
        if margin < self._margin:
            self._margin = margin
            return Reading(Verdict.HOLDS, margin)
        return None

    def _forget(self) -> None:
        """Drop what is too old to count at the present step."""
        if self._steps is not None:
            last = self._last
            while last and self._now - next(iter(last.values())) > self._steps:
                del last[next(iter(last))]

    def _key(self, step: Step) -> str:
        if not self._same:
            return ""
        arguments = step.arguments
        return digest_of([arguments.get(name) for name in self._same])

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return Reading(Verdict.HOLDS, self._margin)

    def state(self) -> Plain:
        if self._broken:
            return BROKEN
        if self._steps is None:
            return [*sorted(self._last)]
        ages = {key: self._now - index for key, index in sorted(self._last.items())}
        return {key: age for key, age in ages.items() if age < self._steps}


class UntilWatch:
    """A condition holds at every step before the first release."""

    __slots__ = ("_broken", "_condition", "_must_come", "_release", "_released")

    def __init__(self, condition: Predicate, release: Predicate, *, must_come: bool) -> None:
        self._condition, self._release, self._must_come = condition, release, must_come
        self._released = self._broken = False

    def step(self, step: Step) -> Reading | None:
        if self._released or self._broken:
            return None
        if self._release(step):
            self._released = True
        elif not self._condition(step):
            self._broken = True
            return violated(f"{_called(self._condition)} must hold until {_called(self._release)}; not at {step!r}")
        return None

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        if self._must_come and not self._released:
            return violated(f"the run ended without {_called(self._release)}")
        return HOLDS

    def state(self) -> Plain:
        return BROKEN if self._broken else self._released


class CountWatch:
    """Something holds at no more than `at_most` and no fewer than `at_least` steps."""

    __slots__ = ("_at_least", "_at_most", "_count", "_what")

    def __init__(self, what: Predicate, at_most: int | None, at_least: int | None) -> None:
        self._what, self._at_most, self._at_least = what, at_most, at_least
        self._count = 0

    def step(self, step: Step) -> Reading | None:
        if not self._what(step):
            return None
        self._count += 1
        if self._at_most is None:
            return None
        if self._count > self._at_most:
            return violated(f"{_called(self._what)} happened {self._count} times; {self._at_most} are allowed")
        return Reading(Verdict.HOLDS, self._margin())

    def _margin(self) -> float:
        return 1.0 if self._at_most is None else 1.0 - self._count / (self._at_most + 1)

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        if self._at_least is not None and self._count < self._at_least:
            return violated(
                f"{_called(self._what)} happened {self._count} times; {self._at_least} are needed",
                self._count / self._at_least - 1.0,
            )
        return Reading(Verdict.HOLDS, self._margin())

    def state(self) -> Plain:
        if self._at_most is not None:
            return BROKEN if self._count > self._at_most else self._count
        return self._count if self._at_least is None else min(self._count, self._at_least)


def _called(predicate: Predicate) -> str:
    """Return what a predicate is called: its pattern, or the function's name."""
    return getattr(predicate, "__name__", None) or repr(predicate)


def _did(unwanted: bool) -> str:  # noqa: FBT001  # one word for each
    return "did" if unwanted else "did not"


class AtEnd:
    """Looks at no step; its state is empty.

    Args:
        judge: Says what an end of a run means.
    """

    __slots__ = ("_judge",)

    looks: ClassVar[Looks] = Looks.NEVER

    def __init__(self, judge: Callable[[End], Reading]) -> None:
        self._judge = judge

    def step(self, step: Step) -> Reading | None:  # noqa: ARG002  # the protocol's
        """Say nothing."""
        return None

    def end(self, end: End) -> Reading:
        """Return what the end means."""
        return self._judge(end)

    def state(self) -> None:
        """Return nothing: the end decides."""


KEPT_MAX = 256
_kept: dict[int, tuple[Nominal, Counter[str]]] = {}


def nominal_counts(nominal: Nominal) -> Counter[str]:
    """Return the high-impact effects of a nominal run by key, with their numbers; not to be changed.

    Thousands of runs are compared with one nominal run, so the answer is kept with the run it is about.
    """
    found = _kept.get(id(nominal))
    if found is not None and found[0] is nominal:
        return found[1]
    if len(_kept) >= KEPT_MAX:
        _kept.clear()
    counts = Counter(effect.key for effect in nominal.effects if effect.impact is Impact.HIGH)
    _kept[id(nominal)] = nominal, counts
    return counts
