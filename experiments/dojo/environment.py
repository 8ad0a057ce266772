"""The environment of one run: shared as long as nobody writes, copied part by part when somebody does.

An environment of AgentDojo has a few parts (an inbox, a calendar, a drive), and every tool says which of them it is
given. So a run that only reads needs no copy, and after a write only the parts that the tool was given are copied and
looked at again.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel

from chaosagent.canonical import DIGEST_BYTES
from chaosagent.experiments.dojo.traits import DERIVED, LOGS


class Start:
    """The environment in which a task begins; every run of the task begins with it.

    Args:
        environment: AgentDojo's; not changed, and not kept.

    Attributes:
        shared: A copy for runs that only read; nobody may change it.
        parts: Each part, pickled.
        digests: Of each part, first with its logs of requests, then without.
        digest: Of the whole.
    """

    __slots__ = ("_whole", "digest", "digests", "parts", "shared")

    def __init__(self, environment: Any) -> None:
        self._whole = pickle.dumps(environment)
        self.shared: Any = pickle.loads(self._whole)
        self.parts: Mapping[str, bytes] = {
            name: pickle.dumps(getattr(self.shared, name)) for name in sorted(type(self.shared).model_fields)
        }
        self.digests = {name: _digests(name, getattr(self.shared, name)) for name in self.parts}
        self.digest = _joined(self.digests)

    def copy(self) -> Any:
        """Return AgentDojo's environment as it is at the start, for whoever may change it."""
        return pickle.loads(self._whole)


class Environment:
    """One run's environment.

    Args:
        start: Where the run begins.
    """

    __slots__ = ("_digest", "_digests", "_object", "_own", "_start", "_unseen")

    def __init__(self, start: Start) -> None:
        self._start = start
        self._object = start.shared
        self._own: set[str] = set()
        self._unseen: set[str] = set()
        self._digests: dict[str, tuple[bytes, bytes]] = start.digests
        self._digest = start.digest

    @property
    def readable(self) -> Any:
        """AgentDojo's environment, for tools that change nothing."""
        return self._object

    def writable(self, parts: Collection[str]) -> Any:
        """Return AgentDojo's environment, for a tool that may change some parts."""
        if not self._own:
            self._object = self._object.model_copy()
            self._digests = dict(self._digests)
        for name in parts:
            if name not in self._own:
                setattr(self._object, name, pickle.loads(self._start.parts[name]))
        self._own.update(parts)
        self._unseen.update(parts)
        return self._object

    def copy(self) -> Any:
        """Return a copy of AgentDojo's environment as it is now, for whoever may change it."""
        return pickle.loads(pickle.dumps(self._object))

    @property
    def digest(self) -> str:
        """Of the environment as it is now; equal states reached by equal calls have equal ones."""
        if self._unseen:
            self._look()
            self._digest = _joined(self._digests)
        return self._digest

    @property
    def substance(self) -> tuple[bytes, ...]:
        """What tells two states apart that differ in more than their logs of requests."""
        if self._unseen:
            self._look()
            self._digest = _joined(self._digests)
        return tuple(without_logs for _, without_logs in self._digests.values())

    def _look(self) -> None:
        for name in sorted(self._unseen):
            self._digests[name] = _digests(name, getattr(self._object, name))
        self._unseen.clear()


def share(before: Any, after: Any) -> Any:
    """Return what stands for `after` when everything in it that equals its counterpart in `before` is that counterpart.

    AgentDojo's checks compare two environments with deepdiff, which takes a tenth of a second where the two are equal
    copies, and passes over what is the same object.

    Args:
        before: One environment, or a part of one; it is not changed.
        after: Another; it is changed in place.
    """
    if type(before) is not type(after):
        return after
    if before == after:
        return before
    if isinstance(after, BaseModel):
        for name in type(after).model_fields:
            after.__dict__[name] = share(before.__dict__[name], after.__dict__[name])
    elif isinstance(after, dict):
        for key in after.keys() & before.keys():
            after[key] = share(before[key], after[key])
    elif isinstance(after, list):
        after[:] = [share(*pair) for pair in zip(before, after, strict=False)] + after[len(before) :]
    return after


def digest_of(environment: Any) -> str:
    """Return the digest of an environment of AgentDojo's."""
    names = sorted(type(environment).model_fields)
    return _joined({name: _digests(name, getattr(environment, name)) for name in names})


def _digests(name: str, part: Any) -> tuple[bytes, bytes]:
    """Return the digests of a part, with and without its logs."""
    without_logs = _hashed(part.model_dump_json(exclude=DERIVED.get(name, set()) | LOGS.get(name, set())))
    if name not in LOGS:
        return without_logs, without_logs
    return _hashed(part.model_dump_json(exclude=DERIVED.get(name))), without_logs


def _hashed(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _joined(digests: Mapping[str, tuple[bytes, bytes]]) -> str:
    return blake2b(_bytes(digests.values()), digest_size=DIGEST_BYTES).hexdigest()


def _bytes(digests: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join(whole for whole, _ in digests)
