"""A record is read back as it was written, and whatever else a file holds is refused."""

from __future__ import annotations

import contextlib
import copy
import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaosagent.canonical import pack, unpack
from chaosagent.errors import RecordError, UsageError
from chaosagent.faults.schedule import EMPTY
from chaosagent.limits import RunLimits
from chaosagent.replays.codec import HEADER, MAGIC, RECORD_BYTES_MAX, _checksum, decode, encode
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import FORMAT_VERSION, NO_SIGNATURE, ReplayRecord
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.replays.store import find_records, read_record, write_record
from chaosagent.targets.loading import load_target
from chaosagent.testing.strategies import plain_data
from chaosagent.trace.step import Link
from chaosagent.trace.upstream_retry import UpstreamRetry
from chaosagent.vocabulary import Labels, SystemConfig, Task

BAD: list[object] = [
    None,
    True,
    0,
    -1,
    2**62,
    2.5,
    float("nan"),
    1e308,
    "",
    "\ud800",
    b"",
    b"\x93",
    [],
    [1],
    {},
    {"a": 1},
]


def sealed(body: bytes, version: int = FORMAT_VERSION, length: int | None = None) -> bytes:
    """Return the file with a body; its checksum is right."""
    return HEADER.pack(MAGIC, version, len(body) if length is None else length, _checksum(version, body)) + body


def body_of(record: ReplayRecord) -> Any:
    return unpack(encode(record)[HEADER.size :])


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths(value[key], (*before, key))


def put(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = put(changed[path[0]], path[1:], new)
    return changed


def check_refused_or_usable(data: bytes) -> bool:
    """Whether bytes are refused; if not, they must be a record that can be used and written."""
    try:
        record = decode(data, "x")
    except RecordError:
        return True
    again = encode(record)
    assert encode(decode(again, "x")) == again
    target = load_target("refund")
    for rerun in (rerun_exact, rerun_schedule):
        with contextlib.suppress(UsageError):  # a configuration that the target does not have
            rerun(record, target)
    return False


# ---------------------------------------------------------------------- round trips


@pytest.fixture
def record(refund_record: ReplayRecord) -> ReplayRecord:
    """A counterexample of two injections."""
    return refund_record


def test_a_record_is_read_back_as_it_was_written(record: ReplayRecord) -> None:
    data = encode(record)

    assert decode(data, "x") == record
    assert encode(decode(data, "x")) == data
    assert record.seed == -(2**80)


def test_where_a_run_crashed_is_kept_and_may_be_missing(record: ReplayRecord) -> None:
    crashed = replace(record, trace=replace(record.trace, crashed_at="agent.py:3 in pay"))
    body = body_of(crashed)
    del body["trace"]["crashed_at"]  # as the first versions wrote it

    assert decode(encode(crashed), "x").trace.crashed_at == "agent.py:3 in pay"
    assert decode(sealed(pack(body)), "x") == record


def test_retries_of_clients_are_kept_outside_the_digest_and_may_be_missing(record: ReplayRecord) -> None:
    retries = (UpstreamRetry("service:bank[1]", "POST bank.example", "status 503", 3),)
    retried = replace(record, trace=replace(record.trace, retries=retries))

    assert decode(encode(retried), "x").trace.retries == retries
    assert retried.trace.digest == record.trace.digest
    assert "retries" not in body_of(record)["trace"]


def test_links_after_the_last_step_are_kept_and_may_be_missing(record: ReplayRecord) -> None:
    link = Link("outcome", "derived_from", "service:orders[1]")
    linked = replace(record, trace=replace(record.trace, links=(link,)))
    body = body_of(linked)
    del body["trace"]["links"]  # as the first versions wrote it

    assert decode(encode(linked), "x").trace.links == (link,)
    assert decode(sealed(pack(body)), "x") == record


def test_what_an_earlier_version_has_certified_is_certified_no_more(record: ReplayRecord) -> None:
    certified = replace(record, proof=replace(record.proof, certified=True, text="C1: ..."))
    body = pack(body_of(certified))

    now, before = (decode(sealed(body, version), "x").proof for version in (FORMAT_VERSION, 1))

    assert now == certified.proof
    assert not before.certified
    assert before.text.startswith("C1: ...; as an earlier version of chaosagent said")


def test_a_record_of_an_earlier_version_has_no_declarations(record: ReplayRecord) -> None:
    later = ("undisturbed", "declarations", "fresh")
    body = {name: part for name, part in body_of(record).items() if name not in later}

    before = decode(sealed(pack(body), 2), "x")

    assert before == replace(record, undisturbed=None, declarations=None)
    assert record.undisturbed is not None
    assert ("service:payments", "refund") in record.undisturbed.calls
    assert [name for name, _ in record.declarations or () if "effects" in name]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_earlier_version_is_read_and_replayed(version: int) -> None:
    record = read_record(Path(__file__).parent / f"version-{version}.replay")
    refund = load_target("refund")

    assert rerun_exact(record, refund).outcome is ReplayOutcome.REPRODUCED
    replay = rerun_schedule(record, refund)
    assert replay.outcome is ReplayOutcome.VIOLATED
    assert any("declarations unknown" in note for note in replay.notes) == (version < 3)
    assert rerun_schedule(record, refund, config_name="hardened").outcome is ReplayOutcome.HELD


@given(
    input_=plain_data(),
    settings_=st.dictionaries(st.text(max_size=5), plain_data(), max_size=3),
    seed=st.integers(),
    steps_max=st.integers(1, 10**6),
    texts=st.lists(st.text(), max_size=3),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_any_task_and_settings_are_read_back(
    record: ReplayRecord,
    input_: object,
    settings_: dict[str, Any],
    seed: int,
    steps_max: int,
    texts: list[str],
) -> None:
    some = unpack(pack(input_))  # lists for tuples
    task = Task("t", some, untrusted=tuple(texts), labels=Labels(forbidden=tuple(texts)))
    config = SystemConfig("c", unpack(pack(settings_)))  # type: ignore[arg-type]  # a mapping
    trace = replace(record.trace, seed=seed, task_id="t")
    changed = replace(record, task=task, config=config, seed=seed, trace=trace, limits=RunLimits(steps_max=steps_max))

    assert decode(encode(changed), "x") == changed


def test_a_run_without_faults_needs_no_contract_and_a_schedule_needs_one(record: ReplayRecord) -> None:
    nominal = replace(record, contract="", schedule=EMPTY, cost=0.0, signature=NO_SIGNATURE)

    assert decode(encode(nominal), "x") == nominal
    assert nominal.file_name == f"{record.task.id}-nominal-{nominal.id}.replay"
    with pytest.raises(RecordError, match=r"record\.contract is '', of which the trace has no verdict"):
        decode(encode(replace(record, contract="")), "x")


@pytest.mark.parametrize("task", ["\u6f22" * 80, "\u00e9" * 300, "-rf", "--all", "../..", "", "\ud800", "a" * 5_000])
def test_any_task_gives_a_name_that_a_file_can_have_and_no_shell_takes_for_an_option(
    record: ReplayRecord, tmp_path: Path, task: str
) -> None:
    named = replace(record, task=replace(record.task, id=task))

    (tmp_path / named.file_name).touch()
    (tmp_path / f"{named.file_name.removesuffix('.replay')}.accepted.toml").touch()
    assert len(list(tmp_path.iterdir())) == 2
    assert named.file_name[0] not in "-."
    assert named.file_name.endswith(f"-{named.id}.replay")


def test_equal_records_have_equal_bytes_whatever_the_order_of_their_mappings(record: ReplayRecord) -> None:
    forth = replace(record, config=SystemConfig("c", {"a": 1, "b": {"x": 1, "y": 2}}), provenance={"m": "1", "n": "2"})
    back = replace(record, config=SystemConfig("c", {"b": {"y": 2, "x": 1}, "a": 1}), provenance={"n": "2", "m": "1"})

    assert encode(forth) == encode(back)


def test_a_record_whose_data_nest_too_deeply_is_not_written(record: ReplayRecord) -> None:
    deep: Any = None
    for _ in range(64):
        deep = [deep]

    with pytest.raises(RecordError, match=r"cannot be written: .*nests deeper"):
        encode(replace(record, task=replace(record.task, input=deep)))


# ---------------------------------------------------------------------- damage


@pytest.mark.slow
def test_a_record_with_any_damaged_byte_is_refused(record: ReplayRecord) -> None:
    data = encode(record)
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            with pytest.raises(RecordError, match="x "):
                decode(bytes(damaged), "x")


def test_a_record_cut_off_anywhere_is_refused(record: ReplayRecord) -> None:
    data = encode(record)
    for length in range(len(data)):
        with pytest.raises(RecordError, match=r"x (is cut off|is no replay record)"):
            decode(data[:length], "x")


def test_a_record_with_something_behind_its_end_is_refused(record: ReplayRecord) -> None:
    with pytest.raises(RecordError, match="has bytes behind its end"):
        decode(encode(record) + b"\0", "x")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "is no replay record"),
        (b"PK\x03\x04 something else", "is no replay record"),
        (sealed(b"\x80", version=FORMAT_VERSION + 1), "reads up to 4. Update it"),
        (sealed(b"\x80", version=0), "has format version 0"),
        (sealed(b"\x80", length=2 * 1024**3), f"claims {2 * 1024**3} bytes; at most {RECORD_BYTES_MAX}"),
        (sealed(b"\x80"), "is missing"),
        (sealed(b""), "no msgpack data"),
        (sealed(b"\x80\x80"), "no msgpack data"),
        (sealed(b"\x91" * 5_000 + b"\xc0"), "no msgpack data"),  # nested
        (sealed(b"\xdd\xff\xff\xff\xff"), "no msgpack data"),  # four thousand million items
        (sealed(b"\xdd" + struct.pack(">I", 2_000_000) + b"\x90" * 2_000_000), "no msgpack data"),
        (sealed(b"\x93" + 3 * (b"\xdd" + struct.pack(">I", 350_000) + b"\xc0" * 350_000)), "more than 1000000"),
        (sealed(b"\x81\xa1a" + b"\xd4\x07\x00"), "extension of type 7"),
        (sealed(b"\x81\x01\x02"), "no msgpack data"),  # a key that is no text
    ],
)
def test_what_is_no_record_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        decode(data, "x")


@pytest.mark.parametrize("path", [("task", "input"), ("config", "settings"), ("trace", "outcome", "state")])
def test_what_is_no_plain_data_is_refused_where_plain_data_may_stand(
    record: ReplayRecord, path: tuple[str, ...]
) -> None:
    body = put(body_of(record), path, {"at": msgpack.Timestamp(0)})

    with pytest.raises(RecordError, match="Timestamp crosses a boundary"):
        decode(sealed(msgpack.packb(body)), "x")


@pytest.mark.slow
def test_a_value_of_another_type_anywhere_is_refused_or_harmless(record: ReplayRecord) -> None:
    body = body_of(record)
    refused = used = 0
    for path in paths(body):
        for bad in BAD:
            packed = msgpack.packb(put(body, path, bad), unicode_errors="surrogatepass")
            if check_refused_or_usable(sealed(packed)):
                refused += 1
            else:
                used += 1

    assert refused > 2_000
    assert refused > used


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), max_examples=200, deadline=None)
@given(data=st.data())
def test_several_changes_at_once_are_refused_or_harmless(record: ReplayRecord, data: st.DataObject) -> None:
    body = body_of(record)
    for _ in range(data.draw(st.integers(1, 3))):
        everywhere = list(paths(body))
        body = put(body, data.draw(st.sampled_from(everywhere)), data.draw(plain_data()))

    check_refused_or_usable(sealed(pack(body)))


def test_each_section_missing_is_named(record: ReplayRecord) -> None:
    body = body_of(record)
    for key in body:
        with pytest.raises(RecordError, match=rf"record\.{key} is missing"):
            decode(sealed(pack({name: body[name] for name in body if name != key})), "x")


def test_a_contract_without_verdict_is_refused(record: ReplayRecord) -> None:
    with pytest.raises(RecordError, match="of which the trace has no verdict"):
        decode(sealed(pack({**body_of(record), "contract": "no-such"})), "x")


def test_a_task_whose_name_no_file_can_hold_is_refused(record: ReplayRecord) -> None:
    packed = msgpack.packb(put(body_of(record), ("task", "id"), "\ud800"), unicode_errors="surrogatepass")

    with pytest.raises(RecordError, match=r"record\.task\.id must be a text without lone surrogates"):
        decode(sealed(packed), "x")


def test_an_operator_that_is_not_installed_is_named(record: ReplayRecord) -> None:
    schedule = body_of(record)["schedule"].replace("service.lost_response", "service.gremlin")

    with pytest.raises(RecordError, match=r"cannot be used here: .*gremlin"):
        decode(sealed(pack({**body_of(record), "schedule": schedule})), "x")


# ---------------------------------------------------------------------- files


def test_a_record_is_found_and_read_where_it_was_written(tmp_path: Path, record: ReplayRecord) -> None:
    path = write_record(tmp_path / "replays", record)
    write_record(tmp_path / "replays", record)

    assert find_records([tmp_path, path]) == [path]
    assert read_record(path) == record
    assert [found.name for found in (tmp_path / "replays").iterdir()] == [record.file_name]


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.replay"
    with large.open("wb") as file:
        file.truncate(RECORD_BYTES_MAX + HEADER.size + 1)

    with pytest.raises(RecordError, match="is too large"):
        read_record(large)
    with pytest.raises(RecordError, match="does not exist"):
        read_record(tmp_path / "none.replay")
    with pytest.raises(RecordError, match="cannot be read: Is a directory"):
        read_record(tmp_path)
    with pytest.raises(RecordError, match=r"/dev/zero cannot be read: it is no file"):
        read_record(Path("/dev/zero"))
    os.mkfifo(tmp_path / "pipe.replay")
    with pytest.raises(RecordError, match=r"pipe\.replay cannot be read: it is no file"):
        read_record(tmp_path / "pipe.replay")


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, record: ReplayRecord) -> None:
    with pytest.raises(RecordError, match=r"record\.cost must be a finite number; the record has inf"):
        write_record(tmp_path, replace(record, cost=float("inf")))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    secret = tmp_path / "secret.replay"
    secret.write_bytes(b"CHAOSREC")
    secret.chmod(0)

    with pytest.raises(RecordError, match=r"secret\.replay cannot be read: Permission denied"):
        read_record(secret)


def test_paths_without_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no \*\.replay file"):
        find_records([tmp_path])
    with pytest.raises(UsageError, match="does not exist"):
        find_records([tmp_path / "none"])


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path, record: ReplayRecord) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="cannot write records there"):
        write_record(tmp_path / "file", record)
