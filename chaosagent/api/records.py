"""The records of a study's folder: written as they are found, and removed when a later run finds them no longer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from chaosagent.errors import RecordError, UsageError
from chaosagent.replays.record import SUFFIX, record_of
from chaosagent.replays.review import review_path
from chaosagent.replays.store import write_record
from chaosagent.report.findings import is_open
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.sink import Sink

LIST_NAME = "records.jsonl"


class Origin(NamedTuple):
    """Which search found a record."""

    task_id: str
    seed: int
    contract: str


class RecordSink(Sink):
    """Writes the record of each counterexample as soon as its search is over.

    What this plan has ever written to the folder is listed in `records.jsonl` beside it, so that an interrupted run
    forgets nothing.

    Args:
        plan: Of the study.
        out: The folder of the study, locked for this process.

    Attributes:
        written: Path of each record, by the id of its counterexample.
        unwritten: Why there is no record of a counterexample, a sentence each.
    """

    def __init__(self, plan: Plan, out: Path) -> None:
        self.written: dict[str, Path] = {}
        self.unwritten: list[str] = []
        self._plan, self._folder, self._list = plan, out / "replays", out / LIST_NAME
        if self._folder.exists() and not self._folder.is_dir():  # better told now than when something was found
            raise UsageError(f"{self._folder} is no folder, and records go there. Move it, or choose another --out.")
        self._listed = _listed(self._list, plan.digest)
        self._write_list()

    def search_over(self, result: SearchResult) -> None:
        for found in result.counterexamples:
            self._write(found, Origin(result.task_id, result.seed, result.contract))

    def _write(self, found: Counterexample, origin: Origin) -> None:
        record = record_of(found, self._plan)
        # Listed first: a record that nobody lists would never be removed.
        self._listed[record.file_name] = origin
        try:
            with self._list.open("a", encoding="utf-8") as listed:
                listed.write(_line(record.file_name, origin))
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self.written[found.id] = write_record(self._folder, record)
        except RecordError as error:  # one counterexample without a record is no reason to lose the study
            self.unwritten.append(str(error))

    def remove_stale(self, result: StudyResult) -> list[Path]:
        """Remove what earlier runs of this plan have written and this one has refuted, and return it.

        A record stays when its search has not come to an end: nothing says that the failure is gone.
        """
        decided = {
            Origin(search.task_id, search.seed, search.contract) for search in result.searches if not is_open(search)
        }
        kept = {path.name for path in self.written.values()}
        stale = sorted(name for name, origin in self._listed.items() if name not in kept and origin in decided)
        removed: list[Path] = []
        for name in stale:
            path = self._folder / name
            if path.exists():
                path.unlink()
                review_path(path).unlink(missing_ok=True)  # a review of a record that is gone says nothing
                removed.append(path)
            del self._listed[name]
        self._write_list()
        return removed

    @property
    def others(self) -> list[Path]:
        """The records in the folder that no run of this plan has written, sorted."""
        ours = {self._folder / name for name in self._listed}
        return sorted(set(self._folder.glob(f"*{SUFFIX}")) - ours)

    @property
    def kept(self) -> list[Path]:
        """The records of earlier runs of this plan that this one has neither written nor removed, sorted."""
        written = {path.name for path in self.written.values()}
        kept = (self._folder / name for name in self._listed if name not in written)
        return sorted(path for path in kept if path.exists())

    def _write_list(self) -> None:
        lines = [json.dumps({"study": self._plan.digest}) + "\n", *(_line(*entry) for entry in self._listed.items())]
        try:
            self._list.write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._list}: cannot be written: {error.strerror}. Make room, or choose another --out.")


def _line(name: str, origin: Origin) -> str:
    return json.dumps({"record": name, "task": origin.task_id, "seed": origin.seed, "contract": origin.contract}) + "\n"


def _listed(path: Path, study: str) -> dict[str, Origin]:
    """Return what earlier runs of a plan have written; what cannot be read is nobody's, and is left alone."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    listed: dict[str, Origin] = {}
    try:
        if not lines or json.loads(lines[0])["study"] != study:
            return {}
        for line in lines[1:]:
            entry = json.loads(line)
            name = str(entry["record"])
            if Path(name).name == name and name.endswith(SUFFIX):
                listed[name] = Origin(str(entry["task"]), int(entry["seed"]), str(entry["contract"]))
    except (ValueError, KeyError, TypeError):
        pass  # a run was killed in the middle of a line; the lines before it are good
    return listed
