"""`chaosagent.check`: contracts on finished traces from files and records; nothing is executed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from chaosagent.api.arguments import flag_of, path_of, plain_of
from chaosagent.api.counterexample import Counterexample
from chaosagent.api.entries import ContractEntry, Entries
from chaosagent.api.result import StudyResult, each_of
from chaosagent.api.rows import frame_of
from chaosagent.api.study import place_of_caller
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.canonical import Plain
from chaosagent.contracts.contract import Contract
from chaosagent.effects.failed_when import FailedWhenForm
from chaosagent.effects.rule import EffectRule
from chaosagent.errors import UsageError
from chaosagent.execution.trace_checks import Checks, Count, Finding, RunContext, Tally
from chaosagent.importable import stop_if_loading
from chaosagent.replays.record import SUFFIX, ReplayRecord
from chaosagent.replays.store import read_record
from chaosagent.report.page import Page, folded_html, page_html, table_html
from chaosagent.report.trace_checks_page import trace_checks_page
from chaosagent.studyfile.checks import load_checks, parse_checks
from chaosagent.trace.genai import ImportedRun, StepPlace, run_of
from chaosagent.trace.genai_content import Gaps
from chaosagent.trace.otlp import SourcePlace
from chaosagent.trace.span_files import Reading, read_groups
from chaosagent.yaml_file import Located, quote_value

if TYPE_CHECKING:
    from chaosagent.api.rows import Frame

TraceSource: TypeAlias = "str | Path | Counterexample | ReplayRecord"


AS_GIVEN = ("contracts", "effects", "failed_when")
"""Keys whose values may hold functions and other objects."""


class CheckKeys(TypedDict, total=False):
    """The keys of a file of contracts.

    Attributes:
        contracts: As in a study.
        effects: What tools commit: the arguments that identify it, `chaosagent.effect(...)`, or a function of arguments
            and answer.
        failed_when: Which answers are failed calls, of all tools or by tool; see `chaosagent.effects.condition`.
        read_only: Tools that commit nothing.
        egress: Tools that send what they are given out of the organisation.
        canaries: Texts that must not leave.
        forbidden: Values that no action may carry.
    """

    contracts: Sequence[ContractEntry]
    effects: Mapping[str, EffectRule | Plain]
    failed_when: FailedWhenForm
    read_only: Sequence[str]
    egress: Sequence[str]
    canaries: Sequence[str]
    forbidden: Sequence[str]


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult:
    """What contracts say of traces.

    Attributes:
        traces: How many were judged.
        steps: In all of them.
        findings: The first violations, with file, line, trace, span, step and agent.
        findings_count: Of all violations.
        counts: By contract: how many traces it `holds`, `violated`, `unfair` and, by reason, `unknown`.
        violated: A hard contract is violated, and fairly.
        judged: Anything could be said of any trace.
        broken: What could not be read and was left out, with its place.
    """

    traces: int
    steps: int
    findings: tuple[Finding, ...]
    findings_count: int
    counts: Mapping[str, Count]
    violated: bool
    judged: bool
    broken: tuple[str, ...]
    _page: Page = field(compare=False)

    @property
    def held(self) -> bool:
        """Whether something could be judged and no hard contract is violated."""
        return self.judged and not self.violated

    def to_frame(self) -> Frame:
        """Return the violations as a table: a `pandas.DataFrame` where pandas is installed, else a list of mappings."""
        return frame_of(_row(finding) for finding in self.findings)

    def __rich__(self) -> Page:
        return self._page

    def __str__(self) -> str:
        return self._page.text().rstrip("\n")

    def __repr__(self) -> str:
        said = "violated" if self.violated else "nothing violated" if self.judged else "nothing judged"
        return f"<CheckResult {self.traces} traces, {self.findings_count} violations: {said}>"

    def _repr_html_(self) -> str:
        rows = [(one.contract, one.reason, one.where, one.hook, one.agent) for one in self.findings]
        table = table_html(("contract", "reason", "place", "hook", "agent"), rows) if rows else "<p>No violation.</p>"
        return table + folded_html("in words", page_html(self._page))


def check(
    traces: StudyResult | TraceSource | Iterable[TraceSource],
    contracts: str | Path | Sequence[ContractEntry] | CheckKeys | None = None,
    *,
    skip_broken: bool = False,
) -> CheckResult:
    """Check contracts on traces that are there already, such as OpenTelemetry spans; nothing is executed.

    Args:
        traces: Paths of files of spans, of replay records, or of folders that hold some; records and counterexamples.
        contracts: The path of a file of contracts or a study file; contracts and their names; or what such a file
            says, as a mapping. The default contracts when left out.
        skip_broken: Leave out what cannot be read; it is listed in the result.

    Raises:
        UsageError: A trace cannot be read, or the contracts are not allowed; the message names the place.
        PluginError: A contract raised something.
    """
    stop_if_loading()
    flag_of("check", "skip_broken", skip_broken)
    reading = Reading()
    with target_output_to_stderr(descriptors=False):
        tally = Tally(_checks(contracts))
        title = _judge(_sources(traces), tally, reading, skip_broken=skip_broken)
    return CheckResult(
        traces=tally.runs,
        steps=tally.steps,
        findings=tuple(tally.findings),
        findings_count=tally.findings_count,
        counts=tally.counts,
        violated=tally.violated,
        judged=tally.judged,
        broken=tuple(reading.broken),
        _page=trace_checks_page(title, tally, reading),
    )


def _judge(sources: list[Path | ReplayRecord], tally: Tally, reading: Reading, *, skip_broken: bool) -> str:
    """Judge traces, and return what they are called together."""
    files = trace_files(source for source in sources if isinstance(source, Path))
    records = [source for source in sources if isinstance(source, ReplayRecord)]
    judge_files(files, tally, reading, skip_broken=skip_broken)
    for record in records:
        judge_record(record, record.file_name, tally)
    names = [*map(str, files), *(record.file_name for record in records)]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else "no traces"


def _checks(contracts: str | Path | Sequence[ContractEntry] | CheckKeys | None) -> Checks:
    if contracts is None or isinstance(contracts, str | Path):
        return load_checks(None if contracts is None else path_of("check", "contracts", contracts), [])
    where = place_of_caller()
    if isinstance(contracts, Contract):
        raise UsageError(f"{where}: contracts is one contract; give a list: check(traces, [contract]).")
    given = dict(contracts) if isinstance(contracts, Mapping) else {"contracts": contracts}
    entries = Entries(where)
    others = plain_of({key: value for key, value in given.items() if key not in AS_GIVEN}, f"{where}: contracts")
    assert isinstance(others, dict)
    data: dict[str, Any] = {
        key: entries.contracts(value) if key == "contracts" else value if key in AS_GIVEN else others[key]
        for key, value in given.items()
    }
    return parse_checks(Located(where, "", data, {}), Path.cwd(), objects=entries.objects)


def _sources(traces: object) -> list[Path | ReplayRecord]:
    found: list[Path | ReplayRecord] = []
    for one in each_of("check", "traces", traces):
        if isinstance(one, str | Path):
            found.append(path_of("check", "traces", one))
        elif isinstance(one, Counterexample):
            found.append(one.record)
        elif isinstance(one, ReplayRecord):
            found.append(one)
        else:
            raise UsageError(
                f"check(traces={quote_value(one)}): give paths of files of spans or of records, or counterexamples."
            )
    return found


def _row(finding: Finding) -> dict[str, Plain]:
    return {
        "contract": finding.contract,
        "severity": finding.severity.value,
        "reason": finding.reason,
        "place": str(finding.where),
        "trace": finding.trace_id,
        "span": finding.span_id,
        "step": finding.step,
        "hook": finding.hook,
        "agent": finding.agent,
        "unfair": finding.unfair,
    }


SPAN_SUFFIXES = (".jsonl", ".json", ".ndjson")


def trace_files(traces: Iterable[Path]) -> list[Path]:
    """Return the files named, and those in the folders named, each once.

    Raises:
        UsageError: A path does not exist, or a folder holds no traces.
    """
    found: dict[Path, None] = {}
    for path in traces:
        if path.is_dir():
            inside = sorted(child for child in path.rglob("*") if child.suffix in (*SPAN_SUFFIXES, SUFFIX))
            if not inside:
                endings = ", ".join(f"*{suffix}" for suffix in (*SPAN_SUFFIXES, SUFFIX))
                raise UsageError(f"{path} holds no traces ({endings}). Name files of spans, or replay records.")
            found.update(dict.fromkeys(inside))
        elif path.exists():
            found[path] = None
        else:
            raise UsageError(f"{path} does not exist. Name files of spans (*.jsonl, *.json), or replay records.")
    return list(found)


def judge_files(paths: Iterable[Path], tally: Tally, reading: Reading, *, skip_broken: bool) -> None:
    """Judge the traces of all files; those of spans together, as the spans of one trace may be in several.

    Args:
        paths: Of files of spans and of replay records.
        tally: Counts each trace.
        reading: Counts what the files hold.
        skip_broken: Note what cannot be read, and continue.

    Raises:
        UsageError: Something cannot be read, and is not to be skipped.
        PluginError: A contract raised something.
    """
    listed = list(paths)
    for path in [path for path in listed if path.suffix == SUFFIX]:
        try:
            judge_record(read_record(path), str(path), tally)
        except UsageError as error:
            if not skip_broken:
                raise
            reading.note(error)
    spans = [path for path in listed if path.suffix != SUFFIX]
    for group in read_groups(spans, reading, skip_broken=skip_broken):
        try:
            run = run_of(group.trace_id, group.spans, tally.checks.rules)
        except UsageError as error:
            if not skip_broken:
                raise
            reading.note(error)
            continue
        tally.lossy = reading.broken_count > 0
        tally.add(run._replace(unfinished=run.unfinished or group.cut))


def judge_record(record: ReplayRecord, name: str, tally: Tally) -> None:
    """Judge the trace of a replay record, which knows its task and the run without injections.

    Args:
        record: The record.
        name: What findings call its place.
        tally: Counts its trace.
    """
    place = StepPlace("", SourcePlace(name, 0))
    places = (place,) * len(record.trace.steps)
    run = ImportedRun("", record.trace, places, place, "", Gaps(), foreign=False, tools={})
    tally.add(run, RunContext(record.task, record.nominal))
