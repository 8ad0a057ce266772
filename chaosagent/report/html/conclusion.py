"""Whether a study shows its target to be robust: one sentence, and what stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from chaosagent.report.causes.cause import Cause
from chaosagent.report.html.study_facts import COST_TOLERANCE, StudyFacts
from chaosagent.report.story import quantity

RESUME = "To go on, give the same command with --resume; nothing is run again."
ASSUMED = "Each proof has assumptions; they stand below, under “What each search proved”."


class Conclusion(NamedTuple):
    """What a study shows.

    Attributes:
        verdict: A few words: "Not robust."
        rest: The sentence that follows them.
        details: Sentences on what is proved, and what is not.
        tone: Something breaks, all is proved, or neither.
    """

    verdict: str
    rest: str
    details: tuple[str, ...]
    tone: Literal["bad", "good", "unclear"]


def conclusion_of(facts: StudyFacts, causes: Sequence[Cause]) -> Conclusion:
    """Return what a study shows; nothing is called proved that its certificates do not prove."""
    nominally = [one for one in facts.searches if one.violated_nominally]
    prefix = "" if facts.is_over else "So far: "
    if nominally:
        names = ", ".join(sorted({one.contract for one in nominally}))
        count = quantity(len(nominally), "search", "searches").capitalize()
        rest = f"{count} {'breaks' if len(nominally) == 1 else 'break'} without any fault: {names}."
        return Conclusion(f"{prefix}Broken.", rest, (*_cheapest(facts, causes)[:1], *_left(facts)), tone="bad")
    if facts.counterexamples or facts.missing:
        return Conclusion(
            f"{prefix}Not robust.", _broken(facts), (*_cheapest(facts, causes), *_left(facts)), tone="bad"
        )
    if facts.known:
        cheapest = "" if facts.known_cost is None else f", the cheapest of which costs {facts.known_cost:g}"
        verb = "is" if facts.known == 1 else "are"
        rest = f"{quantity(facts.known, 'violation').capitalize()} {verb} known{cheapest}; none of them is final."
        return Conclusion(f"{prefix}Not robust.", rest, _left(facts), tone="bad")
    counts = facts.standings()
    if counts.get("broken"):
        rest = f"{quantity(counts['broken'], 'search', 'searches').capitalize()} broke under random schedules only."
        return Conclusion(f"{prefix}Not robust.", rest, _left(facts), tone="bad")
    total = max(facts.search_count, len(facts.searches))
    if facts.is_over and counts.get("proved") and counts["proved"] + counts.get("nothing to inject", 0) == total:
        rest = f"Nothing up to cost {facts.budget:g} breaks it, in the declared space."
        return Conclusion("Robust.", f"{rest} This is proved.", (ASSUMED, *_left(facts)), tone="good")
    if facts.is_over and counts.get("shown", 0) == total and total:
        rest = f"Nothing up to cost {facts.budget:g} was confirmed to break it; clean runs show that, and no proof."
        return Conclusion("No failure shown.", rest, _left(facts), tone="unclear")
    if facts.errors and facts.errors == facts.executions:
        rest = "No run could be executed, so nothing was searched. The errors stand below."
        return Conclusion(f"{prefix}Inconclusive.", rest, (), tone="unclear")
    rest = f"Nothing was found, and {counts.get('proved', 0)} of {total} searches proved that nothing is to be found."
    return Conclusion(f"{prefix}Inconclusive.", rest, _left(facts), tone="unclear")


def _broken(facts: StudyFacts) -> str:
    broken = {one.record.task.id for one in facts.counterexamples}
    tasks = facts.tasks
    single = {one.record.task.id for one in facts.counterexamples if len(one.record.schedule) == 1}
    verb = "is shown to break" if facts.stochastic else "breaks"
    if len(tasks) == 1 or not facts.searches:
        subject = "The task" if len(tasks) == 1 and facts.searches else f"{quantity(len(broken), 'task').capitalize()}"
        verb = verb if len(broken) == 1 else verb.replace("is", "are").replace("breaks", "break")
    else:
        subject = "Every task" if len(broken) == len(tasks) else f"{len(broken)} of {len(tasks)} tasks"
        verb = (
            verb
            if subject == "Every task" or len(broken) == 1
            else verb.replace("is ", "are ").replace("breaks", "break")
        )
    how = ""
    if single:
        how = " on a single fault" if single == broken else f"; {len(single)} of them on a single fault"
    return f"{subject} {verb} within cost {facts.budget:g}{how}."


def _cheapest(facts: StudyFacts, causes: Sequence[Cause]) -> tuple[str, ...]:
    if not causes:
        return ()
    lead = causes[0].lead
    faults = quantity(len(lead.schedule), "fault").capitalize()
    verb = "is" if len(lead.schedule) == 1 else "are"
    told = [f"{faults}, cost {lead.cost:g}, {verb} enough: {causes[0].headline}."]
    if facts.stochastic:
        told.append("Answers come by chance, so nothing here is proved: fresh runs and clean runs show it.")
    elif 0 < lead.cost <= facts.proved_below() + COST_TOLERANCE:
        told.append(f"Nothing cheaper than {lead.cost:g} breaks any contract in the declared space. This is proved.")
        told.append(ASSUMED)
    elif facts.proved_below() > 0:
        told.append(
            f"No schedule cheaper than {facts.proved_below():g} breaks any contract in the declared space: proved. "
            "Between that and what was found it is open."
        )
    else:
        told.append("It is not proved for every search that nothing cheaper breaks its contract.")
    return tuple(told)


def _left(facts: StudyFacts) -> tuple[str, ...]:
    told = []
    if facts.shard:
        told.append(f"This is part {facts.shard} of the study; nothing here is said of the tasks of the other parts.")
    if facts.state in ("running", "killed"):
        was = "was still running" if facts.state == "running" else "was ended by force"
        when = f" at {facts.written}" if facts.written else ""
        told.append(
            f"The study {was}{when}, so no proof is final, and what its searches have proved so far is not shown."
            + ("" if facts.state == "running" else f" {RESUME}")
        )
    if facts.state == "interrupted":
        told.append(f"The study was interrupted. {RESUME}")
    if facts.state == "out of time":
        told.append("The study ended as its time was over. " + RESUME.replace("--resume", "--resume and more time"))
    if facts.errors:
        runs = quantity(facts.errors, "run").capitalize()
        told.append(f"{runs} ended with an error; what is proved ends below the cost of the cheapest of them.")
    if facts.missing:
        names = ", ".join(facts.missing[:5])
        told.append(f"{quantity(len(facts.missing), 'counterexample').capitalize()} without a record: {names}.")
    return tuple(told)
