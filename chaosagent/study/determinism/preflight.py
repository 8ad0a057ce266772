"""The preflight of a target: is it deterministic, which hooks does it cross, what could be declared better?"""

from __future__ import annotations

import contextlib
import enum
import gc
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from chaosagent import errors
from chaosagent.canonical import Plain
from chaosagent.effects.suspect import REMEDY, suspects_in_words
from chaosagent.errors import StudyError, TargetError
from chaosagent.execution.execute import Execution
from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.workbench import Answering, Job, Workbench
from chaosagent.faults.chance_read import ChanceRead
from chaosagent.faults.dry import RecordedCrossing, unpack_request
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.operator import OPERATORS, searched_by_default
from chaosagent.faults.outside_access import REMEDY as REMEDY_OF_ACCESSES
from chaosagent.faults.outside_access import AccessKind, OutsideAccess, listed_accesses
from chaosagent.faults.presets import presets_that_try
from chaosagent.faults.schedule import EMPTY
from chaosagent.study.determinism.determinism import Determinism, examine
from chaosagent.study.divergence import INTO_A_FRESH_FOLDER, REMEDIES, listed_files
from chaosagent.study.task_seed import TaskSeed
from chaosagent.trace.trace import Trace
from chaosagent.trace.upstream_retry import REMEDY as REMEDY_OF_RETRIES
from chaosagent.trace.upstream_retry import listed_retries
from chaosagent.vocabulary import Boundary, ClockKind, Ending, Verdict

DOORS = "Give it doors: run.service(...), run.model(...) and so on, or an adapter; see README.md."
EFFECTS = 'Declare what they commit, effects={...: effect("id")}, or that they change nothing, read_only=[...].'
CHECKPOINTS = (
    "Say run.checkpoint(place, state) where the program's state is complete; a search then merges equal states."
)
SUCCESS = "Return Outcome(success=...), or give the target an objective; R(B) needs it."
_FOR_COMMANDS = {
    DOORS: (
        "Name what it calls under `models`, `services` or `mcp` of its description, and have it ask at the addresses "
        "in OPENAI_BASE_URL, <SERVICE>_URL and the like."
    ),
    EFFECTS: (
        "In its description say what they commit, as in `effects: {POST /refunds: [order]}`, or that they change "
        "nothing, as in `read_only: [POST /search]`."
    ),
    SUCCESS: (
        'Let the last line of stdout be {"message": "...", "success": true}, or name an `objective` in the '
        "description; R(B) needs it."
    ),
}
"""What to do where the target is a command, by what Python code is advised."""
ELSEWHERE = "Fix it first. It was run in a worker process, as a search does, which shares nothing with this one."
AGAIN = "It ran before: look for what one run leaves to the next, or for what fails now and then."
AWAIT = "Write `await` in front of the call."
READS_MAX = 5
CALLERS_MAX = 8
"""Among so many callers of a coroutine that is never awaited the place in the target is looked for."""

_PACKAGE = Path(errors.__file__).parent
_COROUTINE = re.compile("""['"]coroutine['"]""")  # as Python's messages name the type
_NEVER_AWAITED = re.compile(r"coroutine '(.*)' was never awaited")


class Level(enum.Enum):
    """How a remark is meant."""

    GOOD = "good"
    HINT = "hint"
    BAD = "bad"


class Remark(NamedTuple):
    """One thing that was looked at.

    Attributes:
        level: Whether something must be fixed (`BAD`) or could be better (`HINT`).
        about: What was looked at, such as a task.
        text: What was found.
        remedy: What to do about it; empty where nothing is to be done.
    """

    level: Level
    about: str
    text: str
    remedy: str = ""

    def to_json(self) -> dict[str, Plain]:
        """Return it as plain data."""
        return {"level": self.level.value, "about": self.about, "text": self.text, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class PreflightSetup:
    """What a target is looked at with.

    Attributes:
        tasks: Ids of the tasks.
        seed: Of the runs.
        here: The workbench of this process.
        elsewhere: Opens another process with another hash seed.
    """

    tasks: Sequence[str]
    seed: int
    here: Workbench
    elsewhere: Callable[[], Executor]


def preflight(place: PreflightSetup) -> Iterator[Remark]:
    """Look at a target, task by task; remarks come as they are found.

    Args:
        place: Target, tasks and seed.
    """
    is_command = place.here.target.is_command
    for remark in _looked_at(place):
        yield remark._replace(remedy=_FOR_COMMANDS.get(remark.remedy, remark.remedy)) if is_command else remark


def _looked_at(place: PreflightSetup) -> Iterator[Remark]:
    elsewhere = place.elsewhere()
    try:
        natures = {task: _nature_of(task, place, elsewhere) for task in place.tasks}
        runs: dict[str, Execution] = {}
        for task, nature in natures.items():
            if isinstance(nature, Determinism) and (error := _error_elsewhere(nature)):
                yield Remark(Level.BAD, task, f"does not run: {error}", ELSEWHERE)
                yield from _notes_of_command(task, place)
                continue
            if isinstance(nature, Determinism) and nature.uncompared:
                yield from _determinism({task: nature})  # nor can it be run for what else there is to look at
                continue
            with _forgotten_awaits() as forgotten:
                job = Job(task, place.seed, EMPTY, fingerprinting=Fingerprinting.STATE, watched=True)
                runs[task] = place.here.execute(job)
            yield from _of_run(task, runs[task])
            for text in place.here.remarks_on(task):
                yield Remark(Level.HINT, task, text)
            yield from _reads(task, runs[task].evaluation.reads)
            if written := runs[task].evaluation.written:
                text = f"writes {listed_files(written)}; no file is reset between runs"
                yield Remark(Level.HINT, task, text, f"Unless nothing depends on it, {INTO_A_FRESH_FOLDER}.")
            yield from _outside(task, runs[task].evaluation.accesses)
            if retries := runs[task].evaluation.retries:
                text = f"a client behind a door retries by itself: {listed_retries(retries)}"
                yield Remark(Level.HINT, task, text, REMEDY_OF_RETRIES)
            for call in sorted(forgotten):
                yield Remark(Level.HINT, task, f"{call} is called and never awaited, so it did not happen", AWAIT)
        if runs:
            yield from _determinism({task: natures[task] for task in runs})
            yield from _doors(runs)
            yield from _suspects(runs)
            yield from _families(runs)
            yield from _checkpoints(place, runs)
    finally:
        elsewhere.close()


def _notes_of_command(task: str, place: PreflightSetup) -> Iterator[Remark]:
    """Run a command once more, in this process, for what it prints before it is ended at the limit of time."""
    if not place.here.target.is_command:
        return
    with contextlib.suppress(TargetError):  # which was reported
        place.here.execute(Job(task, place.seed, EMPTY))
    for text in place.here.remarks_on(task):
        yield Remark(Level.HINT, task, text)


def _of_run(task: str, run: Execution) -> Iterator[Remark]:
    """Say how a run without injections ended, and what it breaks."""
    trace = run.trace
    if trace.ending is not Ending.FINISHED:
        where = f", at {trace.crashed_at}" if trace.crashed_at else ""
        text = (
            f"without any injection the run ends in {trace.ending.value}{_after(trace)}: {trace.ending_detail}{where}"
        )
        remedy = "Fix the target first: a search would find nothing but this."
        if _COROUTINE.search(trace.ending_detail):
            remedy = f"What a call returns is used without having been awaited. {AWAIT}"
        yield Remark(Level.BAD, task, text, remedy)
        return
    broken = [verdict.contract for verdict in trace.verdicts if verdict.verdict is Verdict.VIOLATED]
    if broken:
        text = f"without any injection it breaks {', '.join(broken)}"
        yield Remark(Level.BAD, task, text, "Fix the target or the contract: what breaks by itself is not searched.")
    else:
        success = {True: "succeeds", False: "fails", None: "does not say whether it succeeds"}[trace.outcome.success]
        steps = "one step" if len(trace.steps) == 1 else f"{len(trace.steps)} steps"
        yield Remark(Level.GOOD, task, f"{steps}, {success}, breaks no contract")
    if trace.outcome.success is None:
        yield Remark(Level.HINT, task, "nothing says whether the outcome is right", SUCCESS)


def _after(trace: Trace) -> str:
    """Return the last step of a run, as where it failed; empty where there is none."""
    if not trace.steps:
        return ""
    step = trace.steps[-1]
    failed = f", which failed ({step.failure.message or step.failure.kind})" if step.failure is not None else ""
    return f" after step {step.index}, {step.interface} {step.operation}{failed}"


def _reads(task: str, reads: Sequence[ChanceRead]) -> Iterator[Remark]:
    """Say what the target's own code asks for that differs from run to run, where, and what to do about it."""
    own = [read for read in reads if not read.package]
    for chance in dict.fromkeys(read.chance for read in own):
        listed = [str(read) for read in own if read.chance is chance]
        more = f" and {len(listed) - READS_MAX} more" if len(listed) > READS_MAX else ""
        text = f"asks for {chance.value}: {', '.join(listed[:READS_MAX])}{more}"
        yield Remark(Level.HINT, task, text, f"Unless nothing depends on it, {REMEDIES[chance]}.")


def _outside(task: str, accesses: Sequence[OutsideAccess]) -> Iterator[Remark]:
    """Report what the target opens outside its doors, except files it writes, which are reported already."""
    found = [one for one in accesses if one.kind is not AccessKind.WRITES]
    if found:
        yield Remark(Level.HINT, task, f"outside of its doors it {listed_accesses(found)}", REMEDY_OF_ACCESSES)


@contextlib.contextmanager
def _forgotten_awaits() -> Iterator[set[str]]:
    """Gather the coroutines that are never awaited in a block, with the places of their calls.

    Other warnings are shown as ever. Calls of doors are none of these coroutines: those end the run.
    """
    found: set[str] = set()
    depth = sys.get_coroutine_origin_tracking_depth()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RuntimeWarning)
        sys.set_coroutine_origin_tracking_depth(CALLERS_MAX)
        try:
            yield found
        finally:
            sys.set_coroutine_origin_tracking_depth(depth)
        gc.collect()  # Python warns once it forgets them
    for warning in warned:
        name = _NEVER_AWAITED.match(str(warning.message))
        if name is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        else:
            found.add(f"{name[1]} ({_called_at(warning)})")


def _called_at(warning: warnings.WarningMessage) -> str:
    """Return where a coroutine was called, outside of chaosagent; where it was forgotten when nobody knows that."""
    places = [(file, line) for file, line, _ in getattr(warning.source, "cr_origin", None) or ()]
    outside = (place for place in places if not Path(place[0]).is_relative_to(_PACKAGE))
    file, line = next(outside, (warning.filename, warning.lineno))
    return f"{Path(file).name}:{line}"


def _nature_of(task: str, place: PreflightSetup, elsewhere: Executor) -> Determinism | str:
    """Make the check that a search makes before its first trial; return why the search would refuse the target.

    It comes before all other runs, as it does there: what the first run in a process leaves behind shows only then.
    """
    try:
        return examine([TaskSeed(task, place.seed)], place.here, elsewhere)
    except (StudyError, TargetError) as error:
        return str(error)


def _error_elsewhere(nature: Determinism) -> str:
    """Return the error of a task that was not run in this process, as in another one it does not run."""
    return next((one.error for one in nature.uncompared if one.in_other_process), "")


def _determinism(natures: Mapping[str, Determinism | str]) -> Iterator[Remark]:
    """Say of each task whether its runs repeat, here and in another process."""
    equal = 0
    for task, nature in natures.items():
        if isinstance(nature, str):
            yield Remark(Level.BAD, task, nature)
        elif nature.uncompared:
            listed = "; ".join(map(str, nature.uncompared))
            text = f"its runs could not be compared, so whether they repeat is not known: {listed}"
            yield Remark(Level.BAD, task, text, AGAIN)
        elif nature.answering is Answering.LIVE:
            equal += 1
        else:
            text = f"its models answer by chance: {nature.reason}"
            remedy = "A study freezes their answers; searches take longer and nothing is proved for certain."
            yield Remark(Level.HINT, task, text, remedy)
    if equal:
        text = f"equal traces of {equal} of {len(natures)} tasks, here and in another process with another hash seed"
        yield Remark(Level.GOOD, "determinism", text)


def _doors(runs: Mapping[str, Execution]) -> Iterator[Remark]:
    """Say which boundaries are crossed, and what calls of services could be told about."""
    crossings = [crossing for run in runs.values() for crossing in run.evaluation.crossings]
    if not crossings:
        yield Remark(Level.BAD, "doors", "the target crosses no boundary, so nothing can be injected", DOORS)
        return
    counted = Counter(crossing.place.interface for crossing in crossings)
    listed = ", ".join(f"{interface} ({count})" for interface, count in sorted(counted.items()))
    yield Remark(Level.GOOD, "doors", f"crossed in these runs: {listed}")
    untold = sorted(_called(runs) - _read(crossings))
    if untold:
        shown = ", ".join(f"{interface} {operation}" for interface, operation in untold)
        text = f"neither effects nor read-only: {shown}; so at-most-once and its like cannot judge them"
        yield Remark(Level.HINT, "effects", text, EFFECTS)


def _suspects(runs: Mapping[str, Execution]) -> Iterator[Remark]:
    """Point out answers that look like errors and count as commits."""
    said = suspects_in_words(one for run in runs.values() for one in run.evaluation.suspects)
    if said:
        yield Remark(Level.HINT, "errors", f"these answers look like errors and count as commits: {said}", REMEDY)


def _families(runs: Mapping[str, Execution]) -> Iterator[Remark]:
    """Name the families of operators that fit what is crossed and are not searched by default."""
    crossed = {crossing.boundary for run in runs.values() for crossing in run.evaluation.crossings}
    known = set(searched_by_default())
    names = [name for name in OPERATORS if name not in known and crossed & OPERATORS.get(name).boundaries]
    if names:
        families = Counter(f"{name.partition('.')[0]}.*" for name in names)
        listed = ", ".join(f"{number} {family}" for family, number in sorted(families.items()))
        presets = presets_that_try(names)
        by_preset = f"the presets {', '.join(presets)} or " if presets else ""
        text = f"off by default, though they fit what is crossed: {listed}"
        yield Remark(Level.HINT, "operators", text, f"Name {by_preset}single ones in `operators:` of the study file.")


def _called(runs: Mapping[str, Execution]) -> set[tuple[str, str]]:
    """Return the operations of services that have succeeded without an effect; one that failed may have none."""
    steps = [step for run in runs.values() for step in run.trace.steps if step.boundary is Boundary.SERVICE]
    committed = {(step.interface, step.operation) for step in steps if step.effects}
    return {(step.interface, step.operation) for step in steps if not step.has_failed} - committed


def _read(crossings: Iterable[RecordedCrossing]) -> set[tuple[str, str]]:
    """Return the operations that are declared to change nothing."""
    return {
        (crossing.place.interface, unpack_request(crossing.request).operation)
        for crossing in crossings
        if crossing.read_only
    }


def _checkpoints(place: PreflightSetup, runs: Mapping[str, Execution]) -> Iterator[Remark]:
    if place.here.target.clock is ClockKind.WALL:
        yield Remark(Level.HINT, "clock", "runs take real time, and no checkpoint can be taken")
    elif not any(run.evaluation.fingerprints for run in runs.values()):
        yield Remark(Level.HINT, "checkpoints", "the target offers none", CHECKPOINTS)
