"""What a study found and proved, as Python code gets it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from chaosagent.api.arguments import whole_of
from chaosagent.api.counterexample import Counterexample
from chaosagent.api.rows import Certificate, Trial, frame_of, rows_in
from chaosagent.api.stored_runs import StoredRun, stored_runs
from chaosagent.errors import UsageError
from chaosagent.limits import RUNS_MAX
from chaosagent.report.page import Page, folded_html, page_html, table_html
from chaosagent.report.printable import printable
from chaosagent.yaml_file import quote_value

if TYPE_CHECKING:
    from chaosagent.api.rows import Frame
    from chaosagent.report.findings import Findings
    from chaosagent.report.plots import Robustness

NESTED_MAX = 4

Table: TypeAlias = Literal["trials", "counterexamples", "certificates"]
TABLES: tuple[Table, ...] = ("trials", "counterexamples", "certificates")


class TrialSource:
    """The trials of a study: at hand, or read from its folder when they are asked for.

    Args:
        folder: Of the study.
        file_id: Of its store, which says whether the folder holds another study by then.
        trials: Those at hand; `None` to read them.
    """

    __slots__ = ("_file_id", "_folder", "_trials")

    def __init__(self, folder: Path, file_id: str, trials: tuple[Trial, ...] | None = None) -> None:
        self._folder, self._file_id, self._trials = folder, file_id, trials

    def read(self) -> tuple[Trial, ...]:
        """Return the trials; read once.

        Raises:
            UsageError: The folder holds no study any more, or another one.
        """
        if self._trials is None:
            rows = rows_in(self._folder)
            if rows.facts["id"] != self._file_id:
                raise UsageError(f"{self._folder} holds another study by now. Load it with chaosagent.load.")
            self._trials = rows.trials
        return self._trials

    def read_runs(self) -> tuple[StoredRun, ...]:
        """Return the runs, each with its summary.

        Raises:
            UsageError: The folder holds no study any more, or another one.
        """
        return stored_runs(self._folder, self._file_id)


@dataclass(frozen=True, slots=True, repr=False)
class StudyResult:
    """What a study found and proved.

    `print(result)` tells it in words, as `chaosagent search` does; a notebook and `rich.print` show tables.

    Attributes:
        target: The reference of the target, as a study file has it.
        config: Name of its configuration.
        budget: Up to which cost schedules were searched.
        counterexamples: What was found, cheapest first.
        certificates: What each search proved, by task, seed and contract.
        digest: Of all trials; equal studies of equal targets have equal ones. Empty if the study was interrupted.
        interrupted: The study was ended before its searches were, or its time was over before what they found was
            minimised, repeated and shown.
        remarks: What the study could not do or keep, a sentence each.
        folder: Of the study; `None` if nothing was kept on disk.
    """

    target: str
    config: str
    budget: float
    counterexamples: tuple[Counterexample, ...]
    certificates: tuple[Certificate, ...]
    digest: str
    interrupted: bool
    remarks: tuple[str, ...]
    folder: Path | None
    _page: Page = field(compare=False)
    _trials: TrialSource = field(compare=False)
    _findings: Findings | None = field(default=None, compare=False)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, by task, seed, contract and number; read from the folder when it is first asked for.

        Raises:
            UsageError: The folder holds no study any more, or another one.
        """
        return self._trials.read()

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """Every run with its summary, in the order in which they were made; read from the folder each time.

        None for a target that declares secrets.

        Raises:
            UsageError: The study was not kept in a folder, or the folder holds none any more, or another one.
        """
        if self.folder is None:
            raise UsageError("the study was not kept in a folder, so its runs cannot be read. Search with out=...")
        return self._trials.read_runs()

    @property
    def violated(self) -> bool:
        """Whether some contract breaks, under a schedule or without one."""
        return bool(self.counterexamples) or any(one.violated_nominally for one in self.certificates)

    @property
    def proved(self) -> bool:
        """Whether every search proved that nothing within the budget violates its contract."""
        return bool(self.certificates) and all(one.safe for one in self.certificates)

    def to_frame(self, of: Table = "trials") -> Frame:
        """Return trials, counterexamples or certificates as a table, one row each.

        Args:
            of: Which of them.

        Returns:
            A `pandas.DataFrame` where pandas is installed, otherwise a list of mappings; the columns are the same.
        """
        if of not in TABLES:
            raise UsageError(f"to_frame(of={quote_value(of)}): there are the tables {', '.join(map(repr, TABLES))}.")
        listed: Sequence[Trial | Counterexample | Certificate] = getattr(self, of)
        return frame_of(one.to_row() for one in listed)

    def robustness(self, *, draws: int = 20) -> Robustness:
        """Return R(B): how many tasks are still done when faults may cost up to B.

        Runs random schedules in this process, and uses the searches against the contract `objective`. The default
        contracts do not contain it, so name it in the study: `contracts=["default", "objective"]`. The target must say
        in its outcomes whether the task succeeded, or have an `objective`.

        Args:
            draws: Random schedules for each task, seed and level of the budget; 1 or more.

        Raises:
            UsageError: The result was loaded from a folder, so that there is no target to run; the study did not search
                `objective`, or the target does not say whether it was met; or `draws` is not allowed.
        """
        from chaosagent.api.robustness import robustness_of

        whole_of("robustness", "draws", draws, RUNS_MAX)
        if self._findings is None:
            raise UsageError(
                f"{self.folder}: a loaded study has no target to run random schedules on. Use the result of "
                "chaosagent.search."
            )
        return robustness_of(self._findings, draws=draws)

    def __reduce__(self) -> tuple[object, ...]:
        """Travel without the target, which may not be able to."""
        values = [getattr(self, one.name) for one in fields(self) if one.name not in ("_findings", "_trials")]
        return StudyResult, (*values, self._trials)

    def __rich__(self) -> Page:
        return self._page

    def __str__(self) -> str:
        return self._page.text().rstrip("\n")

    def __repr__(self) -> str:
        found = f"{self.target}: {_many(len(self.counterexamples), 'counterexample')}"
        safe = sum(one.safe for one in self.certificates)
        proved = f"{safe} of {_many(len(self.certificates), 'search', 'searches')} proved up to {self.budget:g}"
        return f"<StudyResult {printable(found, characters_max=300)}, {proved}>"

    def _repr_html_(self) -> str:
        found = table_html(
            ("contract", "task", "seed", "cost", "certified", "schedule", "reason"),
            [
                (one.contract, one.task, one.seed, f"{one.cost:g}", _yes(one.certified), one.schedule, one.reason)
                for one in self.counterexamples
            ],
        )
        proved = table_html(
            ("contract", "task", "seed", "level", "proved", "certificate"),
            [(one.contract, one.task, one.seed, one.level, _yes(one.safe), one.text) for one in self.certificates],
        )
        return (
            (found if self.counterexamples else "<p>No counterexample was found.</p>")
            + folded_html(f"{_many(len(self.certificates), 'certificate')}", proved)
            + folded_html("the summary in words", page_html(self._page))
        )


def each_of(call: str, name: str, value: object, depth: int = 0) -> Iterator[object]:
    """Yield what an argument gives: itself, the counterexamples of a result, or what is in a list, in lists of it, too.

    Raises:
        UsageError: Lists are nested too deeply, as those that contain themselves are.
    """
    if depth > NESTED_MAX:
        raise UsageError(f"{call}({name}=...): {name} is a list that contains itself, or too many lists in each other.")
    if isinstance(value, StudyResult):
        yield from value.counterexamples
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | Path | Mapping):
        for one in value:
            yield from each_of(call, name, one, depth + 1)
    else:
        yield value


def _many(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _yes(value: object) -> str:
    return "yes" if value else "no"
