"""Whatever is done to a record's bytes ends in a sentence or in a replay, in little time and memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chaosagent.canonical import pack, unpack
from chaosagent.cli.main import main
from chaosagent.clock import monotonic
from chaosagent.errors import RecordError
from chaosagent.replays.codec import HEADER, MAGIC, RECORD_BYTES_MAX, _checksum, decode, encode
from chaosagent.replays.record import FORMAT_VERSION, ReplayRecord
from chaosagent.report.page import Look
from chaosagent.report.story import story_json, story_of
from chaosagent.testing.strategies import plain_data

SECONDS_MAX = 60.0
"""For what takes milliseconds, on a machine that does much else."""
MEGABYTES_MAX = 200
REFUSAL_CHARACTERS_MAX = 2_000
FUZZED = settings(suppress_health_check=list(HealthCheck), max_examples=60, deadline=None)


def sealed(body: bytes, version: int = FORMAT_VERSION) -> bytes:
    """Return a file with a body; its checksum is right, as only malice makes it."""
    return HEADER.pack(MAGIC, version, len(body), _checksum(version, body)) + body


@pytest.fixture
def sound(refund_record: ReplayRecord) -> bytes:
    """The bytes of a record as they should be."""
    return encode(refund_record)


@st.composite
def mutations(draw: st.DrawFn) -> list[tuple[str, float, bytes]]:
    """Return what to do where: places are shares of the length, so that they fit any record."""
    kinds = st.sampled_from(["flip", "put", "cut", "insert", "repeat", "drop"])
    place = st.floats(0, 1, exclude_max=True)
    return draw(st.lists(st.tuples(kinds, place, st.binary(min_size=1, max_size=12)), min_size=1, max_size=6))


def mutated(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    for kind, share, chunk in changes:
        at = int(share * len(data))
        if kind == "flip":
            data = data[:at] + bytes([(data[at] if at < len(data) else 0) ^ chunk[0]]) + data[at + 1 :]
        elif kind == "put":
            data = data[:at] + chunk + data[at + len(chunk) :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "insert":
            data = data[:at] + chunk + data[at:]
        elif kind == "repeat":
            data = data[:at] + data[at : at + 40] * chunk[0] + data[at:]
        else:
            data = data[:at] + data[at + chunk[0] :]
    return data


def check(data: bytes) -> ReplayRecord | None:
    """Return the record that bytes hold, `None` when they are refused; whatever they hold can be told."""
    begun = monotonic()
    tracemalloc.start()
    record, refusal = None, ""
    try:
        record = decode(data, "x")
    except RecordError as error:
        refusal = str(error)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MEGABYTES_MAX * 1e6
    assert monotonic() - begun < SECONDS_MAX
    if record is None:
        assert refusal.startswith("x")
        assert len(refusal) < REFUSAL_CHARACTERS_MAX
        return None
    for whole in (False, True):
        told = story_of(record, Path("x.replay"), whole=whole).text(Look(100, colour=False, ascii_only=False))
        assert all(letter.isprintable() or letter == "\n" for letter in told)
    json.dumps(story_json(record), allow_nan=False)
    return record


@FUZZED
@given(changes=mutations())
@example(changes=[("cut", 0.0, b"x")])
def test_mutated_files_are_refused(sound: bytes, changes: list[tuple[str, float, bytes]]) -> None:
    data = mutated(sound, changes)

    found = check(data)

    assert found is None or data == sound


@FUZZED
@given(changes=mutations())
def test_mutated_bodies_under_a_right_checksum_are_refused_or_can_be_told(
    sound: bytes, changes: list[tuple[str, float, bytes]]
) -> None:
    check(sealed(mutated(sound[HEADER.size :], changes)))


@FUZZED
@given(
    place=st.floats(0, 1, exclude_max=True),
    value=st.sampled_from(
        [float("inf"), float("-inf"), float("nan"), 1e308, 2**63, 10**40, "\ud800\x1b[2J", b"", None]
    ),
)
@example(place=0.0, value=float("inf"))
def test_odd_values_anywhere_are_refused_or_can_be_told(sound: bytes, place: float, value: object) -> None:
    body = unpack(sound[HEADER.size :])
    everywhere = list(leaves(body))
    owner, key = everywhere[int(place * len(everywhere))]
    owner[key] = value

    check(sealed(pack(body)))


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what holds each value that holds nothing itself, and where it has it."""
    for key in value if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], dict | list):
            yield from leaves(value[key])
        else:
            yield value, key


@FUZZED
@given(body=st.one_of(st.binary(max_size=200), plain_data().map(pack)))
@example(body=b"\xdf\xff\xff\xff\xff")
@example(body=b"\xc6\xff\xff\xff\xff")
@example(body=b"\x91" * 100_000)
@example(body=b"\x82\xa1a\x01\xa1a\x02")
def test_anything_at_all_under_a_right_checksum_is_refused(body: bytes) -> None:
    assert check(sealed(body)) is None


@FUZZED
@given(data=st.binary(max_size=100), version=st.integers(0, 2**16 - 1), length=st.integers(0, 2**32 - 1))
@example(data=b"", version=FORMAT_VERSION, length=2 * 1024**3)
@example(data=b"", version=FORMAT_VERSION, length=RECORD_BYTES_MAX)
def test_any_header_is_refused_without_believing_it(data: bytes, version: int, length: int) -> None:
    assert check(HEADER.pack(MAGIC, version, length, bytes(16)) + data) is None


@settings(FUZZED, max_examples=40)
@given(changes=mutations(), right=st.booleans())
@pytest.mark.slow
def test_show_and_replay_end_with_an_exit_code_whatever_the_file_holds(
    sound: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: list[tuple[str, float, bytes]],
    *,
    right: bool,
) -> None:
    path = tmp_path / "x.replay"
    path.write_bytes(sealed(mutated(sound[HEADER.size :], changes)) if right else mutated(sound, changes))

    for arguments in (["show", str(path)], ["replay", str(path)], ["replay", "--mode", "exact", "--json", str(path)]):
        code = main(arguments)
        told = capsys.readouterr()
        assert code in (0, 1, 2, 3, 4)
        assert "This is an error of chaosagent" not in told.err
        assert "Traceback" not in told.err + told.out
