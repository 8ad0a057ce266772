"""The format of replay records.

    offset  bytes  what
    0       8      magic: CHAOSREC
    8       2      format version, big-endian
    10      4      length of the body in bytes, big-endian
    14      16     BLAKE2b digest (16 bytes) of everything before it and of the body
    30      ...    body: one msgpack map, keys sorted; its sections are the fields of `ReplayRecord`

A record that is written as it goes, as `chaosagent proxy --record` does, is a journal:

    offset  bytes  what
    0       8      magic: CHAOSJNL
    8       2      format version, as above, big-endian
    10      ...    frames; each belongs to the one before, so none can be left out or moved:
                   4   length of its body in bytes, big-endian
                   4   BLAKE2b digest (4 bytes) of this length and of the last frame's digest, or of magic and version
                   16  BLAKE2b digest (16 bytes) of that and of the body
                   ... body: msgpack. First the sections of a record whose trace has no steps and was cut off; then one
                   step a frame; in the end, unless the process was killed, the sections `trace` (without steps),
                   `trace_digest` and `nominal`.

Its last frame may be incomplete: what it would have held was not answered to anybody.

A record is untrusted input: its size is limited before it is read, nothing in it is executed or imported, every value
is checked for its type, and what is too new, too large, damaged or of another shape is refused with a `RecordError`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from collections.abc import Iterator
from hashlib import blake2b

import msgpack

from chaosagent.canonical import pack, unpack_bounded
from chaosagent.contracts.contract import Nominal
from chaosagent.errors import RecordError, UsageError
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.replays.record import FORMAT_VERSION, Proof, ReplayRecord
from chaosagent.replays.sections import (
    read_answer,
    read_confirmation,
    read_declarations,
    read_effect,
    read_link,
    read_nominal_run,
    read_outcome,
    read_retry,
    read_signature,
    read_step,
    read_texts,
    read_verdict,
    write_effect,
    write_nominal_run,
    write_outcome,
    write_signature,
    write_step,
    write_verdict,
)
from chaosagent.replays.typed import ITEMS_MAX, Section, refuse
from chaosagent.trace.tagged import has_surrogates
from chaosagent.trace.trace import ContractVerdict, Trace
from chaosagent.vocabulary import LIMITS_REACHED, Ending, Labels, SystemConfig, Task, Verdict

MAGIC = b"CHAOSREC"
OF_VERSION_1 = (
    "; as an earlier version of chaosagent said, whose rules could miss what needs a duplicate. Search "
    "anew to have it certified"
)
HEADER = struct.Struct(">8sHI16s")
_CHECKED = struct.Struct(">8sHI")
RECORD_BYTES_MAX = 64 * 1024 * 1024


def encode(record: ReplayRecord) -> bytes:
    """Return the bytes of a record; equal records give equal bytes.

    Raises:
        RecordError: The record is larger than a record may be, or holds data that nest too deeply.
    """
    try:
        body = pack(written_sections(record))
    except UsageError as error:
        raise RecordError(f"The record of {record.id} cannot be written: {error}") from error
    if len(body) > RECORD_BYTES_MAX:
        raise RecordError(
            f"The record of {record.id} has {len(body)} bytes; at most {RECORD_BYTES_MAX} are allowed. "
            "Hand less data through the target's doors."
        )
    return HEADER.pack(MAGIC, FORMAT_VERSION, len(body), _checksum(FORMAT_VERSION, body)) + body


def written_sections(record: ReplayRecord) -> dict[str, object]:
    """Return the sections of a record, as plain data."""
    trace = record.trace
    return {
        "target_reference": record.target_reference,
        "target_name": record.target_name,
        "task": record.task,
        "config": {"name": record.config.name, "settings": record.config.settings},
        "seed": str(record.seed),
        "contract": record.contract,
        "contract_specs": record.contract_specs,
        "limits": record.limits,
        "schedule": record.schedule.text,
        "cost": record.cost,
        "signature": write_signature(record.signature),
        "nominal": {
            "effects": [write_effect(effect) for effect in record.nominal.effects],
            "outcome": write_outcome(record.nominal.outcome),
        },
        "trace": {
            "config_digest": trace.config_digest,
            "steps": [write_step(step) for step in trace.steps],
            "ending": trace.ending.value,
            "ending_detail": trace.ending_detail,
            "crashed_at": trace.crashed_at,
            "outcome": write_outcome(trace.outcome),
            "verdicts": [write_verdict(verdict) for verdict in trace.verdicts],
            "links": [list(link) for link in trace.links],
            **({"retries": [retry._asdict() for retry in trace.retries]} if trace.retries else {}),
        },
        "trace_digest": record.trace_digest,
        "proof": {
            "certified": record.proof.certified,
            "lower_bound": record.proof.lower_bound,
            "text": record.proof.text,
            "necessity": record.proof.necessity,
        },
        "provenance": record.provenance,
        "answers": record.answers,
        "confirmation": None if record.confirmation is None else dataclasses.asdict(record.confirmation),
        "undisturbed": write_nominal_run(record.undisturbed),
        "declarations": record.declarations,
        "fresh": record.fresh,
    }


def decode(data: bytes, where: str) -> ReplayRecord:
    """Return the record that some bytes describe.

    Args:
        data: The bytes of a whole file.
        where: What messages call them.

    Raises:
        RecordError: They are no record, damaged, too large, of a newer version, or of an operator that is not
            installed.
    """
    body = _checked_body(data, where)
    with refused_as_record(where):
        version = HEADER.unpack_from(data)[1]
        record = read_sections(unpack_bounded(body, items_max=ITEMS_MAX), version)
        return record if version >= 2 else _as_of_version_2(record)


@contextlib.contextmanager
def refused_as_record(where: str) -> Iterator[None]:
    """Raise what reading damaged data raises as a `RecordError` that names the file.

    Args:
        where: What messages call the data.

    Raises:
        RecordError: Something in the `with` block has refused the data.
    """
    try:
        yield
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from None
    except UsageError as error:
        raise RecordError(f"{where}: it cannot be used here: {error}") from error
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise RecordError(
            f"{where}: the body is no msgpack data of a record ({error}). Make the record again."
        ) from error


def _as_of_version_2(record: ReplayRecord) -> ReplayRecord:
    """Return a record of version 1 with what is known of a run that a limit has ended, and of what was proved.

    The rules of that version could miss what needs a duplicate, so its certificates do not count any more. Of a trace
    that does not have the announced digest nothing is changed, so that a replay still sees that.
    """
    trace = record.trace
    if record.proof.certified:
        text = f"{record.proof.text}{OF_VERSION_1}"
        record = dataclasses.replace(record, proof=dataclasses.replace(record.proof, certified=False, text=text))
    if trace.ending not in LIMITS_REACHED or trace.digest != record.trace_digest:
        return record
    verdicts = tuple(
        ContractVerdict(one.contract, Verdict.UNKNOWN, 0.0) if one.verdict is Verdict.HOLDS else one
        for one in trace.verdicts
    )
    is_real = trace.ending is Ending.TIME_LIMIT and "of real time" in trace.ending_detail
    changed = dataclasses.replace(trace, verdicts=verdicts, ending=Ending.HUNG if is_real else trace.ending)
    return dataclasses.replace(record, trace=changed, trace_digest=changed.digest)


def _checked_body(data: bytes, where: str) -> bytes:
    if not data.startswith(MAGIC[: max(1, min(len(data), len(MAGIC)))]) or not data:
        raise RecordError(f"{where} is no replay record: it does not begin with {MAGIC.decode()}.")
    if len(data) < HEADER.size:
        raise RecordError(f"{where} is cut off: {len(data)} bytes, a header has {HEADER.size}. Fetch it again.")
    _, version, length, checksum = HEADER.unpack_from(data)
    if version < 1:
        raise RecordError(f"{where} has format version {version}; the first one was 1. It is damaged: fetch it again.")
    if version > FORMAT_VERSION:
        raise RecordError(
            f"{where} has format version {version}; this chaosagent reads up to {FORMAT_VERSION}. "
            "Update it with `pip install --upgrade chaosagent`."
        )
    if length > RECORD_BYTES_MAX:
        raise RecordError(f"{where} claims {length} bytes; at most {RECORD_BYTES_MAX} are allowed.")
    body = data[HEADER.size :]
    if len(body) != length:
        what = "is cut off" if len(body) < length else "has bytes behind its end"
        raise RecordError(f"{where} {what}: {len(body)} bytes of body, {length} announced. Fetch it again.")
    if _checksum(version, body) != checksum:
        raise RecordError(f"{where} is damaged: its checksum does not match. Fetch it again.")
    return body


def _checksum(version: int, body: bytes) -> bytes:
    hashed = blake2b(_CHECKED.pack(MAGIC, version, len(body)), digest_size=16)
    hashed.update(body)
    return hashed.digest()


def read_sections(sections: object, version: int) -> ReplayRecord:
    """Return the record that its sections describe; the inverse of `written_sections`.

    Raises:
        RecordError: Something is missing or of another shape.
        UsageError: The schedule names an operator that is not installed.
    """
    record = Section(sections, "record")
    trace, config, proof = record.section("trace"), record.section("config"), record.section("proof")
    nominal = record.section("nominal")
    seed = record.text("seed")
    if not seed.lstrip("-").isdecimal() or len(seed) > 100:
        raise RecordError(f"record.seed is {seed!r:.80}; it must be a whole number.")
    task = _read_task(record.section("task"))
    contract, verdicts = record.text("contract"), trace.each("verdicts", read_verdict)
    schedule = parse(record.text("schedule"), "record.schedule")
    if contract not in [verdict.contract for verdict in verdicts] and (contract or schedule or version < 4):
        raise RecordError(f"record.contract is {contract!r:.80}, of which the trace has no verdict.")
    return ReplayRecord(
        target_reference=record.text("target_reference"),
        target_name=record.text("target_name"),
        task=task,
        config=SystemConfig(config.text("name"), config.mapping("settings")),
        seed=int(seed),
        contract=contract,
        contract_specs=tuple(record.items("contract_specs")),
        limits=_read_limits(record.section("limits")),
        schedule=schedule,
        cost=record.number("cost"),
        signature=read_signature(record.section("signature")),
        nominal=Nominal(nominal.each("effects", read_effect), read_outcome(nominal.section("outcome"))),
        trace=Trace(
            task_id=task.id,
            config_digest=trace.text("config_digest"),
            seed=int(seed),
            steps=tuple(read_step(step, index) for index, step in enumerate(trace.sections("steps"))),
            ending=trace.word("ending", Ending),
            ending_detail=trace.text("ending_detail"),
            outcome=read_outcome(trace.section("outcome")),
            verdicts=verdicts,
            crashed_at=trace.text("crashed_at") if "crashed_at" in trace else "",
            links=tuple(map(read_link, trace.items("links"))) if "links" in trace else (),
            retries=trace.each("retries", read_retry) if "retries" in trace else (),
        ),
        trace_digest=record.text("trace_digest"),
        proof=Proof(
            proof.flag("certified"),
            proof.bound("lower_bound"),
            proof.text("text"),
            tuple(read_texts(pair, "A pair of record.proof.necessity") for pair in proof.items("necessity")),
        ),
        provenance={key: str(value) for key, value in record.mapping("provenance").items()},
        answers=tuple(read_answer(answer) for answer in record.items("answers")),
        confirmation=read_confirmation(record.optional_section("confirmation")),
        undisturbed=read_nominal_run(record.optional_section("undisturbed")) if version >= 3 else None,
        declarations=read_declarations(record) if version >= 3 else None,
        fresh=record.flag("fresh") if version >= 3 else False,
    )


def _read_task(task: Section) -> Task:
    labels, name = task.section("labels"), task.text("id")
    if has_surrogates(name):
        refuse("record.task.id", "a text without lone surrogates", name)
    return Task(
        id=name,
        input=task.raw("input"),
        category=task.text("category"),
        untrusted=task.texts("untrusted"),
        labels=Labels(labels.flag("misuse"), labels.texts("forbidden"), labels.texts("canaries")),
    )


def _read_limits(section: Section) -> RunLimits:
    limits = RunLimits(
        steps_max=section.integer("steps_max"),
        turns_max=section.integer("turns_max"),
        turns_total_max=section.integer("turns_total_max"),
        virtual_seconds_max=section.bound("virtual_seconds_max"),
        payload_bytes_max=section.integer("payload_bytes_max"),
        wall_seconds_max=section.bound("wall_seconds_max"),
        memory_megabytes_max=section.integer("memory_megabytes_max")
        if "memory_megabytes_max" in section
        else RunLimits().memory_megabytes_max,
    )
    if min(dataclasses.astuple(limits)) <= 0:
        raise RecordError(f"record.limits are {limits}; each must be greater than 0.")
    return limits
