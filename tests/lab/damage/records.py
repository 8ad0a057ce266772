"""One damaged replay record: by bytes, which its checksum must reveal, or by values under a checksum that is right."""

from __future__ import annotations

import contextlib
import functools
import random
import tempfile
from hashlib import blake2b
from pathlib import Path

import msgpack

from chaosagent.canonical import unpack
from chaosagent.errors import UsageError
from chaosagent.replays.codec import HEADER, MAGIC, decode, encode
from chaosagent.replays.journal import Journal
from chaosagent.replays.record import FORMAT_VERSION, ReplayRecord
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.replays.store import read_record
from chaosagent.report.story import story_of
from chaosagent.targets.loading import load_target
from chaosagent.trace.spans import export_line
from tests.lab.damage.damaged_bytes import damage_bytes
from tests.lab.damage.odd_values import ODD, with_odd_values
from tests.lab.damage.outcome import Case, outcome_of

STORED = Path(__file__).parents[2] / "replays" / "version-3.replay"


@functools.cache
def _record() -> ReplayRecord:
    return read_record(STORED)


@functools.cache
def _journal() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        journal = Journal(Path(place) / "session.replay", _record())
        for step in _record().trace.steps:
            journal.append(step)
        journal.finish(_record())
        return journal.path.read_bytes()


def attack_record(number: int) -> Case:
    """Damage a record or a journal and read it, or give one odd values and read, tell and replay it."""
    rng = random.Random(f"record {number}")
    if rng.random() < 0.5:
        body, damage = with_odd_values(unpack(encode(_record())[HEADER.size :]), rng, ODD)
        return _case(number, damage, "use", lambda: _use(body))
    is_journal = rng.random() < 0.3
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "damaged.replay"
        before = _journal() if is_journal else encode(_record())
        path.write_bytes(before)
        while path.read_bytes() == before:
            damage = damage_bytes(path, rng)
        return _case(number, damage, "read", lambda: _changed(path, is_journal=is_journal))


def _case(number: int, damage: str, use: str, work: functools.partial[str] | object) -> Case:
    outcome, detail = outcome_of(work)  # type: ignore[arg-type]  # a function without arguments
    return Case(number, damage, use, outcome, detail)


def _changed(path: Path, *, is_journal: bool) -> str:
    """Read a damaged file, and return what changed; a journal may have lost its end."""
    found = read_record(path)
    steps = _record().trace.steps
    same = found.trace.steps == steps[: len(found.trace.steps)] if is_journal else found == _record()
    return "" if same else f"{found!r:.300}"


def _use(body: object) -> str:
    """Read a record that a stranger has sealed, and use it as `show`, `check` and `replay` do."""
    packed = msgpack.packb(_packable(body), unicode_errors="surrogatepass")
    header = HEADER.pack(MAGIC, FORMAT_VERSION, len(packed), bytes(16))
    checksum = blake2b(header[:-16] + packed, digest_size=16).digest()
    record = decode(header[:-16] + checksum + packed, "x")
    again = encode(record)
    if encode(decode(again, "x")) != again:
        return "it is written as something else than it was read"
    story_of(record, Path("x.replay"), whole=True).text()
    export_line(record.trace)
    target = load_target("refund")
    for rerun in (rerun_exact, rerun_schedule):
        with contextlib.suppress(UsageError):  # a configuration that the target does not have
            rerun(record, target)
    return ""


def _packable(value: object) -> object:
    """Return data with its numbers beyond 64 bits as the format has them."""
    if isinstance(value, dict):
        return {key: _packable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_packable(item) for item in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return msgpack.ExtType(1, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    return value
