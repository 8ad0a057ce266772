"""The first divergence of two runs that should be equal, and its most likely cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from chaosagent.execution.workers.second_process import Variation
from chaosagent.faults.chance_read import Chance, ChanceRead
from chaosagent.faults.difference import NO_CALL, difference_in_calls
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.written_file import WrittenFile
from chaosagent.trace.diff import Difference


class Divergence(NamedTuple):
    """Two runs that differed.

    Attributes:
        world: Of frozen answers, in which they were made.
        schedules: Of the two runs: the same one twice, or one of which some did not land, and what landed of it.
        difference: The first one.
        where: Under what they differed, and how.
        cause: The likely one, before any run was watched for it.
        reads: What a watched run of it asked for that differs from run to run.
    """

    world: int
    schedules: tuple[Schedule, Schedule]
    difference: Difference
    where: str
    cause: str
    reads: tuple[ChanceRead, ...] = ()

    @property
    def with_cause(self) -> str:
        """Where they differed, and the likely cause."""
        return f"{self.where}. Likely cause: {self.cause}"

    def explained(
        self, reads: Sequence[ChanceRead], changed: Sequence[str], written: Sequence[WrittenFile] = ()
    ) -> str:
        """Return the same with the cause that was observed, if any was.

        Args:
            reads: What a watched run asked for that differs from run to run.
            changed: The variables of modules that runs change.
            written: The files that they write.
        """
        if not (reads or changed or written):
            return self.with_cause
        cause = likely_cause(self.difference, reads=reads, changed=changed, written=written)
        return self._replace(cause=cause).with_cause


def divergence_of_repeat(
    world: int, schedule: Schedule, difference: Difference, reads: tuple[ChanceRead, ...] = (), cause: str = ""
) -> Divergence:
    """Return the divergence of two runs of one schedule.

    Args:
        world: Of frozen answers.
        schedule: Of both.
        difference: The first one.
        reads: What the second one, if it was watched, asked for that differs from run to run.
        cause: The likely one; by default what most often makes two runs differ in this way.
    """
    where = f"{f'under `{schedule}`' if schedule else 'without injections'}, {difference}"
    cause = cause or likely_cause(difference, reads=reads)
    return Divergence(world, (schedule, schedule), difference, where, cause, reads)


def divergence_of_effective(world: int, told: Evaluation, alone: Evaluation) -> Divergence:
    """Return the divergence of a run of which something did not land from the run of what landed.

    Args:
        world: Of frozen answers.
        told: The run of which something did not land.
        alone: The run of only what landed of it.
    """
    landed = f"only `{told.effective}`" if told.effective else "nothing"
    difference = difference_in_calls(alone, told)
    where = f"under `{told.schedule}` {landed} landed, and yet the run is another: {difference}"
    is_ours = all("/" not in injection.operator_name for injection in told.schedule)
    cause = recognised_cause(difference) or (VARYING if is_ours else STRANGE_OPERATOR)
    return Divergence(world, (told.schedule, told.effective), difference, where, cause)


def is_equal_run(one: Evaluation, other: Evaluation) -> bool:
    """Whether two runs under different schedules ended alike, with the same calls, answers and times."""
    return (one.ending, one.success, _calls(one)) == (other.ending, other.success, _calls(other))


def _calls(told: Evaluation) -> list[tuple[object, ...]]:
    """Return what was asked and answered where and when, in the order of places."""
    return sorted((one.place, one.request, one.response, one.asked_at, one.answered_at) for one in told.crossings)


OR_PIN = "or pin it: `with chaosagent.deterministic(run):`"
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"\b(19|20)\d\d-[01]\d-[0-3]\d([T ]\d\d:\d\d)?|\b1[5-9]\d{8}(\.\d+)?\b")
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
_DRAWN = re.compile(r"\b[0-9a-f]{16,}\b|\b0\.\d{9,}|\b\d\.\d{9,}e-\d\d\b")  # a token, or what random() gives


_ORDER = "the order of a set, or of what threads finish; sort it"
STRANGE_OPERATOR = (
    "an operator that acts by a timer or a variable of its own and not through its crossing, or chance in the target"
)
_BY_ADDRESS = (
    "such as the address of an object, the order of a set of objects without `__hash__`, or the id of the process"
)
VARYING = f"something that differs from run to run, {_BY_ADDRESS}"
_WITHIN = (
    "create it within the target's function, or give each run a process of its own: `@chaosagent.fresh` above the "
    "target, or for a search `fresh: true` in the study file"
)
READS_SHOWN = 3
VARIABLES_SHOWN = 8
FILES_SHOWN = 4
INTO_A_FRESH_FOLDER = "write to a folder made in the run (`tempfile.mkdtemp()`), or to a store in memory"
_VARYING = {
    Variation.NONE: (
        "what depends on earlier runs of the process, but is in no module variable, such as a package's own cache, "
        f"the address of an object, or the order of a set of objects without `__hash__`; {_WITHIN}"
    ),
    Variation.PROCESS: f"something that differs between processes with the same hash seed, {_BY_ADDRESS}",
    Variation.RUN: VARYING,
}
REMEDIES = {
    Chance.REAL_TIME: f"ask run.clock.now(), {OR_PIN}",
    Chance.RANDOM: f"draw from run.rng(label), {OR_PIN}",
    Chance.ADDRESS: "let no call, order or outcome depend on it",
}
_NAMES = {
    Chance.REAL_TIME: "the wall clock",
    Chance.RANDOM: "random numbers not drawn from run.rng(label)",
    Chance.ADDRESS: "the address of an object, which differs from run to run",
}


def likely_cause(
    difference: Difference,
    *,
    in_one_process: bool = True,
    reads: Sequence[ChanceRead] = (),
    changed: Sequence[str] = (),
    written: Sequence[WrittenFile] = (),
) -> str:
    """Say what most often makes two runs differ in this way, and what to do about it.

    Args:
        difference: The first one of two runs.
        in_one_process: Whether both ran in the same process.
        reads: What a watched run of the same schedule asked for that differs from run to run.
        changed: The variables of modules that it changes.
        written: The files that it writes.

    Returns:
        What was observed, as such reads and changes, before what is only guessed.
    """
    recognised = recognised_cause(difference)
    guessed = recognised or _guessed(difference, in_one_process=in_one_process)
    suspects = [read for read in reads if not read.package and read.chance is not Chance.ADDRESS]
    chance = _chance_in(difference)
    observed = [_named(suspects, first=chance)] if suspects else []
    if changed:
        observed.insert(0 if chance is None else 1, cause_in_modules(changed))
    if written:
        observed.append(cause_in_files(written))
    if observed:
        is_sure = in_one_process and guessed != _ORDER and (bool(suspects) or not recognised)
        return "; or ".join(observed if is_sure else [guessed, *observed])
    addresses = [read for read in reads if not read.package]
    if addresses:
        return f"{guessed}; or {_named(addresses)}"
    packages = [f"{read.call} in {read.package}" for read in reads if read.package]
    if packages:
        return f"{guessed} (packages that the target uses call {', '.join(packages[:READS_SHOWN])})"
    return guessed


def cause_of_cold_difference(
    difference: Difference,
    *,
    variation: Variation,
    reads: Sequence[ChanceRead] = (),
    changed: Sequence[str] = (),
    written: Sequence[WrittenFile] = (),
) -> str:
    """Say what most often makes a run differ from the same one in a process of its own, and what to do about it.

    Args:
        difference: The first one of the two runs.
        variation: Which repeats of it differ.
        reads: What watched repeats asked for that differs from run to run.
        changed: The variables of modules that it changes.
        written: The files that runs of the task write.
    """
    if variation is Variation.HASH_SEED:
        kept = f"; or {cause_in_modules(changed)}" if changed else ""
        return f"the order of a set, or `hash()`, which differ from process to process; sort{kept}"
    changed = changed if variation is Variation.NONE else ()  # nothing was run before in those that differ
    own = [read for read in reads if not read.package]
    is_observed = changed or written or any(read.chance is not Chance.ADDRESS for read in own)
    if is_observed or recognised_cause(difference):
        return likely_cause(difference, reads=reads, changed=changed, written=written)
    return f"{_VARYING[variation]}; or {_named(own)}" if own else _VARYING[variation]


def cause_in_modules(changed: Sequence[str]) -> str:
    """Say that variables of modules outlive runs, which ones, and what to do about it."""
    return f"what the process keeps between runs: runs change {listed_variables(changed)}; {_WITHIN}"


def cause_in_files(written: Sequence[WrittenFile]) -> str:
    """Say that files outlive runs, which ones, and what to do about it."""
    return f"what files keep between runs: the target writes {listed_files(written)}; {INTO_A_FRESH_FOLDER}"


def listed_files(written: Sequence[WrittenFile]) -> str:
    """Return files with the places that write them in one phrase, and how many more there are."""
    more = f" and {len(written) - FILES_SHOWN} more" if len(written) > FILES_SHOWN else ""
    return ", ".join(map(str, written[:FILES_SHOWN])) + more


OF_A_COMMAND = "in a command, what it does not derive from CHAOSAGENT_RUN_ID"
_OF_RUN_ID = "CHAOSAGENT_RUN_ID, which is the same in every repeat of a run"
_FOR_COMMANDS = {
    f"draw it from run.rng(label), {OR_PIN}": f"derive it from {_OF_RUN_ID}",
    f"draw from run.rng(label), {OR_PIN}": f"derive them from {_OF_RUN_ID}",
    f"ask run.clock.now(), {OR_PIN}": "leave it out of what the program sends and says",
    "not drawn from run.rng(label)": "not derived from CHAOSAGENT_RUN_ID",
    "wait with run.clock.sleep": "let nothing that the program sends depend on it",
    "in a module's variable; make the world within the function": "in a file or a server; start each run afresh",
    "in a module's variable": "in a file or a server",
}
"""What to do about chance where Python's doors are out of reach, by what Python code is advised."""


def for_command(advice: str) -> str:
    """Return advice on a likely cause as whoever wrote a command in any language can follow it."""
    for python, command in _FOR_COMMANDS.items():
        advice = advice.replace(python, command)
    return advice


def listed_variables(names: Sequence[str]) -> str:
    """Return the names of variables in one phrase, and how many more there are."""
    more = f" and {len(names) - VARIABLES_SHOWN} more" if len(names) > VARIABLES_SHOWN else ""
    return ", ".join(names[:VARIABLES_SHOWN]) + more


def _named(reads: Sequence[ChanceRead], first: Chance | None = None) -> str:
    """Name what was read, where, and the remedy; one kind of chance before the others."""
    kinds = sorted(dict.fromkeys(read.chance for read in reads), key=lambda chance: chance is not first)
    told = []
    for kind in kinds:
        listed = [str(read) for read in reads if read.chance is kind]
        more = f" and {len(listed) - READS_SHOWN} more" if len(listed) > READS_SHOWN else ""
        told.append(f"{_NAMES[kind]}: {', '.join(listed[:READS_SHOWN])}{more}; {REMEDIES[kind]}")
    return "; or ".join(told)


def _chance_in(difference: Difference) -> Chance | None:
    """Return what kind of value two runs differ in, where it can be recognised."""
    expected, got = difference.expected, difference.got
    if difference.field == NO_CALL:
        return None  # these are digests
    if _TIME.search(expected) and _TIME.search(got):
        return Chance.REAL_TIME
    drawn = (_UUID.search(expected) and _UUID.search(got)) or (_DRAWN.search(expected) and _DRAWN.search(got))
    return Chance.RANDOM if drawn else None


def recognised_cause(difference: Difference) -> str:
    """Say what makes two runs differ where the two values show it; empty where they do not."""
    expected, got = difference.expected, difference.got
    if difference.field == NO_CALL:
        return ""  # these are digests
    if difference.field in ("asked_at", "arrived_at", "asked at", "answered at"):
        return "real time passes into virtual time, for example through a thread; wait with run.clock.sleep"
    if _UUID.search(expected) and _UUID.search(got):
        return f"a uuid; draw it from run.rng(label), {OR_PIN}"
    if _TIME.search(expected) and _TIME.search(got):
        return f"the wall clock; ask run.clock.now(), {OR_PIN}"
    if _ADDRESS.search(expected) and _ADDRESS.search(got):
        return "the address in the default repr of an object; give its class a __repr__"
    if _DRAWN.search(expected) and _DRAWN.search(got):
        return f"a generated id or a random number; draw it from run.rng(label), {OR_PIN}"
    if expected != got and Counter(expected) == Counter(got):
        return _ORDER
    return ""


def _guessed(difference: Difference, *, in_one_process: bool) -> str:
    """Say what most often makes two runs differ where the two values do not show it."""
    if difference.field == NO_CALL:
        return "a random number not drawn from run.rng(label), or the wall clock, in what no call shows"
    if not in_one_process:
        return "the order of a set, `hash()`, or something that the process keeps between runs; sort, or keep nothing"
    if difference.field == "steps":
        return "something kept between runs, such as a cache in a module's variable; make the world within the function"
    if difference.field in ("interface", "operation", "occurrence", "agent", "place", "calls"):
        return (
            "something kept between runs in a module's variable, or an order of calls that depends on chance, such as "
            "that of a set or of threads; make the world within the function, and fix the order"
        )
    return (
        f"a random number; draw it from run.rng(label), {OR_PIN}; or something kept between runs in a module's variable"
    )
