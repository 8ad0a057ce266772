"""What was reviewed of a record is kept next to it, counts for the same difference, and is untrusted input."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaosagent.errors import RecordError, UsageError
from chaosagent.replays.changes import Change
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.review import BYTES_MAX, Expectation, Review, read_review, review_path, write_review

CHANGE = Change("effects", 'no longer commits a "voucher"\n', "0" * 32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a record would be."""
    return tmp_path / "late-at-most-once-012345.replay"


def test_what_was_written_is_read_and_without_a_file_nothing_was_reviewed(
    path: Path, refund_record: ReplayRecord
) -> None:
    assert read_review(path, refund_record) == Review()

    review = Review((CHANGE, CHANGE._replace(digest="1" * 32)), Expectation.HELD)
    written = write_review(path, refund_record, review)

    assert written == review_path(path) == path.with_name("late-at-most-once-012345.accepted.toml")
    assert read_review(path, refund_record) == review
    assert list(path.parent.iterdir()) == [written]


@settings(suppress_health_check=list(HealthCheck), max_examples=200, deadline=None)
@given(text=st.text())
def test_any_text_can_be_written(path: Path, refund_record: ReplayRecord, text: str) -> None:
    write_review(path, refund_record, Review((Change(text, text, text),)))

    (change,) = read_review(path, refund_record).changes
    assert len(change.digest) == len(text)


def test_what_was_reviewed_of_another_record_does_not_count(path: Path, refund_record: ReplayRecord) -> None:
    write_review(path, refund_record, Review((CHANGE,)))

    with pytest.raises(RecordError, match=r"accepted\.toml: record is .* does not count\. Restore the file"):
        read_review(path, replace(refund_record, trace_digest="f" * 32))


HEAD = 'version = 1\nrecord = "{digest}"\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("version = ?", r"is no TOML text: Invalid value \(at line 1, column 11\)"),
        ("version = 1\nversion = 1", "is no TOML text: Cannot overwrite a value"),
        ("[" * 50_000, "is no TOML text"),
        ("\xff", "is no TOML text: 'utf-8' codec"),
        ("", "version must be a whole number, got None"),
        ("version = true", "version must be a whole number, got True"),
        ("version = 3", r"has version 3; this chaosagent reads up to 2\. Update it"),
        ("version = 1", "record is None, and the record beside it is"),
        (HEAD + "expects = 'held'", "unknown key 'expects'; known are accepted, expect, record and version"),
        (HEAD + "expect = 'HELD'", "expect is 'HELD'; it must be 'violated' or 'held'"),
        (HEAD + "expect = 3", "expect is 3; it must be 'violated' or 'held'"),
        (HEAD + "accepted = 3", "accepted must be a list of at most 1000 tables"),
        (HEAD + "accepted = [1]", r"accepted\[0\] is 1; it must have the texts digest, text and what"),
        (HEAD + "[[accepted]]\nwhat = 'x'", r"accepted\[0\] is .* it must have the texts"),
        (HEAD + "[[accepted]]\nwhat = 'x'\ntext = 'x'\ndigest = 1", r"accepted\[0\] is .* it must have the texts"),
        ("#" * (BYTES_MAX + 1), f"is too large: at most {BYTES_MAX} bytes"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused(
    path: Path, refund_record: ReplayRecord, text: str, complaint: str
) -> None:
    content = text.replace("{digest}", refund_record.trace_digest)
    review_path(path).write_bytes(content.encode("latin-1"))

    with pytest.raises(RecordError, match=complaint):
        read_review(path, refund_record)


def test_a_pipe_and_a_folder_are_refused(path: Path, refund_record: ReplayRecord) -> None:
    os.mkfifo(review_path(path))
    with pytest.raises(RecordError, match="cannot be read: it is no file"):
        read_review(path, refund_record)

    review_path(path).unlink()
    review_path(path).mkdir()
    with pytest.raises(RecordError, match="cannot be read: it is no file"):
        read_review(path, refund_record)
    with pytest.raises(UsageError, match="cannot be written: Is a directory"):
        write_review(path, refund_record, Review((CHANGE,)))
    assert len(list(path.parent.iterdir())) == 1
