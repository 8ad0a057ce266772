"""What `chaosagent demo` does, step by step, and whether it kept its promises."""

from __future__ import annotations

import importlib.resources
import json
import multiprocessing
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from chaosagent.api.replays.replayed import ReplayedRecord, totals_of
from chaosagent.api.replays.replaying import records_at, replay_all
from chaosagent.api.robustness import curves_json, robustness_of
from chaosagent.canonical import Plain
from chaosagent.cli.output import remark, stdout_for_answers
from chaosagent.cli.session import run_study, write_beside
from chaosagent.clock import monotonic
from chaosagent.execution.workers.process_tree import hold_interrupts, ignore_interrupts
from chaosagent.extras import require
from chaosagent.metrics.robustness import Curve
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.store import read_record
from chaosagent.report.findings import Findings, counterexamples_table, work_of
from chaosagent.report.findings_json import findings_json
from chaosagent.report.page import Page, bad, faint, good, name, strong
from chaosagent.report.plots import Robustness, chance_notes, plot_robustness
from chaosagent.report.story import quantity, story_of
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.plan import Plan
from chaosagent.study.store.study_store import StudyStore
from chaosagent.studyfile import Overrides, load_study, plan_of

FIRST, REPAIRED = "naive", "hardened"
KINDS_MIN = 5
FIRST_STUDY = Overrides(config=FIRST)
REPAIRED_STUDY = Overrides(config=REPAIRED)


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that the demonstration says it will show.

    Attributes:
        text: What.
        kept: Whether it happened.
    """

    text: str
    kept: bool


@dataclass(frozen=True, slots=True)
class RepairedResult:
    """What the study of the repaired version brought; plain data, since it comes from another process.

    Attributes:
        robustness: Its R(B).
        budget: Up to which it was searched.
        safe: Searches that proved that nothing within the budget breaks their contract.
        searches: How many there were.
        work: What they took, in one line.
        data: The findings as plain data.
    """

    robustness: Robustness
    budget: float
    safe: int
    searches: int
    work: str
    data: dict[str, Plain]


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demonstration has shown.

    Attributes:
        findings: Of the first version.
        repaired: Of the repaired one.
        reruns: All replays.
        curves: R(B) of both.
        pictures: Where it is drawn.
        promises: What was promised.
        seconds: Real time.
    """

    findings: Findings
    repaired: RepairedResult
    reruns: Sequence[ReplayedRecord]
    curves: Sequence[Robustness]
    pictures: Sequence[Path]
    promises: Sequence[Promise]
    seconds: float

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return all(promise.kept for promise in self.promises)

    def to_json(self) -> dict[str, Plain]:
        """Return it as plain data."""
        return {
            **findings_json(self.findings),
            "repaired": self.repaired.data,
            "replays": {**totals_of(self.reruns)},
            "robustness": curves_json(self.curves),
            "pictures": [str(path) for path in self.pictures],
            "promises": [{"promise": promise.text, "kept": promise.kept} for promise in self.promises],
            "kept": self.kept,
            "demo_seconds": round(self.seconds, 3),
        }


class Demonstration:
    """Search, story, replays and R(B) of the built-in assistant.

    Args:
        out: Folder for everything that is written.
        tell: Shows a page to the user.
    """

    def __init__(self, out: Path, tell: Callable[[Page], None]) -> None:
        self._out, self._tell = out, tell

    def run(self) -> DemoResult:
        """Do all of it.

        Raises:
            MissingExtraError: matplotlib is not installed; found out before anything is run.
            UsageError: The folder holds something else.
        """
        begun = monotonic()
        require("matplotlib", extra="report", needed_by="chaosagent demo")
        packaged = importlib.resources.files("chaosagent.experiments.triage") / "study.yaml"
        context = multiprocessing.get_context("spawn")
        with importlib.resources.as_file(packaged) as study, ProcessPoolExecutor(1, context) as beside:
            # Runs of this target take a millisecond: two studies side by side use two cores, workers would only wait.
            make_room(study, FIRST_STUDY, self._out)
            make_room(study, REPAIRED_STUDY, self._out / REPAIRED)
            try:
                with hold_interrupts():  # from the process beside: this one decides what becomes of it
                    awaited = beside.submit(search_repaired, study, self._out / REPAIRED)
                found = self._search(study)
                self._tell_story(found)
                reruns = self._replay(found)
                repaired = self._await(awaited)
                curves = self._measure(found, repaired)
            except BaseException:
                for child in multiprocessing.active_children():
                    child.terminate()  # it saves what it has, and nobody waits for the rest
                raise
        pictures = self._draw(found.plan, curves)
        promises = promises_of(found, repaired, reruns, pictures)
        shown = DemoResult(found, repaired, reruns, curves, pictures, promises, monotonic() - begun)
        self._tell_end(shown)
        return shown

    # ------------------------------------------------------------------ the steps

    def _search(self, study: Path) -> Findings:
        file = load_study(study, FIRST_STUDY)
        page = Page().line(strong("A customer-support assistant meets faults"))
        page.gap().line(
            "The triage assistant reads a customer's e-mail, looks up orders and parcels, pays back, answers and "
            f"keeps notes. Its first version ({FIRST}) retries what fails, reads from caches and believes what it is "
            "told, as first versions do. Which few faults of its tools, its memory or its model make it pay twice, "
            "promise what it has not done, leak data or hang?"
        )
        page.heading("1  Search: the cheapest faults that break each contract (what must always hold) in each task")
        self._tell(page)
        remark("searching; this takes about two minutes on two cores")
        found = run_study(file, self._out, title=f"{file.name}, {FIRST}")
        if found.result.interrupted:
            raise KeyboardInterrupt
        page = counterexamples_table(found)
        page.gap().line(
            faint(
                "How to read it: service:payments[1]@action is the first call of the agent action to the service "
                "payments, and behind it stands the fault that is injected there. A fault costs about 1."
            )
        )
        page.gap().line(strong(_count_line(found)))
        page.line(faint(work_of(found.result)))
        self._tell(page.gap())
        return found

    def _tell_story(self, found: Findings) -> None:
        worst = hardest(found)
        if worst is None:
            return
        path = found.records[worst.id]
        faults = quantity(len(worst.schedule), "fault")
        page = Page().line(strong(f"2  The story of one, which needs {faults}")).gap()
        self._tell(page.add_below(story_of(read_record(path))).gap())

    def _replay(self, found: Findings) -> list[ReplayedRecord]:
        records = list(found.records.values())  # the folder may hold some of an earlier version, too
        with stdout_for_answers():
            exact = replay_all(records_at(records), mode="exact")
            schedule = replay_all(records_at(records), mode="schedule", config=REPAIRED)
        page = Page().line(strong("3  Replay: each counterexample again, in two ways"))
        page.table(
            (),
            [
                ("offline, the world served from the record, the same trace bit for bit:", _totals(exact)),
                (f"the same faults injected into the repaired version ({REPAIRED}):", _totals(schedule)),
            ],
            indent=3,
        )
        page.line(faint("HELD: the faults landed, and the contract that they broke was kept."), indent=3)
        self._tell(page.gap())
        return [*exact, *schedule]

    def _await(self, awaited: Future[RepairedResult]) -> RepairedResult:
        """Wait for the search of the repaired version, which has everything to refute and ends last."""
        page = Page().line(strong(f"4  Is that all? The repaired version ({REPAIRED}), searched in the same way"))
        self._tell(page)
        if not awaited.done():
            remark("this one takes longer, as everything must be ruled out")
        repaired = awaited.result()
        share = "all" if repaired.safe == repaired.searches else f"{repaired.safe} of the"
        page = Page().line(
            f"For {share} {repaired.searches} pairs of task and contract it is proved that none of the "
            f"study's faults, up to cost {repaired.budget:g}, break the contract. Other operators may.",
            indent=3,
        )
        self._tell(page.line(faint(repaired.work), indent=3).gap())
        return repaired

    def _measure(self, found: Findings, repaired: RepairedResult) -> list[Robustness]:
        with stdout_for_answers():
            curves = [robustness_of(found), repaired.robustness]
        budget = f"{found.plan.budget:g}"
        page = Page().line(strong("5  How many tasks are still done when faults may cost up to B: R(B)"))
        page.table(
            ("", "no faults", f"the worst up to B = {budget}", f"random ones up to {budget}", "mean over all B"),
            [_row(robustness) for robustness in curves],
            indent=3,
        )
        for note in chance_notes(curves):
            page.line(faint(note), indent=3)
        self._tell(page)
        return curves

    def _draw(self, plan: Plan, curves: Sequence[Robustness]) -> tuple[Path, ...]:
        title = (
            f"{plan.target.name} under faults: {quantity(len(plan.tasks), 'task')}, {quantity(len(plan.seeds), 'seed')}"
        )
        data = json.dumps(curves_json(curves), indent=1)
        numbers = self._out / "robustness.json"
        numbers.write_text(data + "\n", encoding="utf-8")
        pictures = plot_robustness(curves, title, self._out / "robustness")
        drawn = [part for picture in pictures for part in (" and ", name(str(picture)))][1:]
        self._tell(Page().line("drawn in ", *drawn, f"; the numbers are in {numbers}", indent=3).gap())
        return pictures

    def _tell_end(self, shown: DemoResult) -> None:
        page = Page().line(strong("What was promised, and what happened"))
        page.table(
            (), [(good("✓") if promise.kept else bad("✗"), promise.text) for promise in shown.promises], indent=3
        )
        page.line(faint(f"{shown.seconds:.0f} s"), indent=3)
        page.heading("What to type next")
        rows = []
        worst = hardest(shown.findings)
        if worst is not None:
            rows.append(
                (f"chaosagent show {shlex.quote(str(shown.findings.records[worst.id]))}", "the story above, again")
            )
        replays = shlex.quote(str(self._out / "replays"))
        rows.append((f"chaosagent replay --config {REPAIRED} {replays}", "as CI would after a change: all HELD"))
        rows.append((f"chaosagent replay {replays}", f"against {FIRST}: all VIOLATED, as nothing is repaired there"))
        rows.append(("chaosagent list operators", "the faults there are"))
        rows.append(("chaosagent init my-agent", "a small agent and its study, to be changed into your own"))
        self._tell(page.table((), [(name(command), what) for command, what in rows], indent=3).gap())
        remark(write_beside(self._out))


def _count_line(found: Findings) -> str:
    counterexamples = found.result.counterexamples
    certified = sum(one.certificate.certified for one in counterexamples)
    share = "all" if certified == len(counterexamples) else f"{certified} of them"
    return (
        f"{quantity(len(counterexamples), 'counterexample').capitalize()} of {quantity(found.signatures, 'kind')}, one "
        f"of each kind shown; {share} certified: it is proved that nothing cheaper breaks the contract in that task."
    )


def make_room(study: Path, settings: Overrides, out: Path) -> None:
    """Remove what an earlier demo has left, ended or not."""
    StudyStore.remove(out, plan_of(load_study(study, settings)), unfinished_too=True)


def search_repaired(study: Path, out: Path) -> RepairedResult:
    """Search the repaired version; for a process of its own."""
    ignore_interrupts()
    findings = run_study(load_study(study, REPAIRED_STUDY), out)
    certificates = [search.certificate for search in findings.result.searches]
    with stdout_for_answers():
        robustness = robustness_of(findings)
    return RepairedResult(
        robustness,
        findings.plan.budget,
        sum(certificate.safe for certificate in certificates),
        len(certificates),
        work_of(findings.result),
        findings_json(findings),
    )


def hardest(found: Findings) -> Counterexample | None:
    """Return the counterexample that needs most faults: the one nobody would have thought of."""
    return max(found.by_harm, key=lambda one: (len(one.schedule), one.cost), default=None)


def promises_of(
    found: Findings, repaired: RepairedResult, reruns: Sequence[ReplayedRecord], pictures: Sequence[Path]
) -> list[Promise]:
    """Return what the demonstration promises and whether it happened."""
    counterexamples = found.result.counterexamples
    sizes = {len(one.schedule) for one in counterexamples}
    exact = [rerun.replay.outcome for rerun in reruns if rerun.replay.mode == "exact"]
    schedule = [rerun.replay.outcome for rerun in reruns if rerun.replay.mode == "schedule"]
    return [
        Promise(f"at least {quantity(KINDS_MIN, 'kind')} of failure in {FIRST}", found.signatures >= KINDS_MIN),
        Promise("among them one that needs two faults, and one that needs three", {2, 3} <= sizes),
        Promise(
            "each counterexample is minimal and certified: nothing cheaper breaks its contract",
            bool(counterexamples) and all(one.certificate.certified and one.minimal for one in counterexamples),
        ),
        Promise("each is reproduced offline, bit for bit", _all(exact, ReplayOutcome.REPRODUCED, len(counterexamples))),
        Promise(f"{REPAIRED} holds against each of them", _all(schedule, ReplayOutcome.HELD, len(counterexamples))),
        Promise(
            f"nothing in the study's space (its operators, levels and budget) breaks {REPAIRED}: that is proved",
            repaired.safe == repaired.searches > 0,
        ),
        Promise("R(B) of both versions as PNG and SVG", all(path.is_file() for path in pictures) and bool(pictures)),
    ]


def _all(outcomes: Sequence[ReplayOutcome], wanted: ReplayOutcome, count_min: int) -> bool:
    return len(outcomes) >= max(1, count_min) and set(outcomes) == {wanted}


def _totals(reruns: Sequence[ReplayedRecord]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in totals_of(reruns).items()) or "nothing to replay"


def _row(robustness: Robustness) -> tuple[str, str, str, str, str]:
    curve = robustness.adversarial
    end = curve.levels[-1]
    drawn = "" if robustness.random is None else f"{robustness.random.levels[-1].upper:.0%}"
    return robustness.name, f"{curve.levels[0].upper:.0%}", _share(end.lower, end.upper), drawn, _mean(curve)


def _share(low: float, high: float) -> str:
    return f"{high:.0%}" if low == high else f"{low:.0%} to {high:.0%}"


def _mean(curve: Curve) -> str:
    low, high = curve.area
    return f"{high:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
