"""What a search has proved, and how far the proof reaches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chaosagent.statistics.sequential import clean_share_max
from chaosagent.study.chance.confirmation import CleanRuns
from chaosagent.study.chance.nominal_share import NominalShare
from chaosagent.study.chance.worlds import UnvisitedSites, describe_unseen

LEVELS = {
    "C0": "1-minimal only: no injection can be spared or weakened",
    "C1": "rules R1 and R2: needs determinism, causality, and true read-only and effect labels",
    "C2": "rules R1, R2 and R3: needs checkpoints that hold all the future depends on, and no limit near, too",
    "C3": "as C1 or C2, and monotone parameters, as operators declare them: a stronger level never breaks less",
    "C4": "as C1, C2 or C3, and complete provenance, as the target declares it: nothing else matters to its outcome",
    "S": "statistical: a proof for one world of frozen answers, and clean runs of each class of schedules in others",
}

RULES = {
    "R1": "faults are added in the order in which they begin to act, as one has no effect on anything before that",
    "R2": "of faults with the same known outcome at a place only the cheapest is run; one that changes nothing, never",
    "R3": "a run that is equal to an earlier one at a checkpoint goes on like it, so it is not searched on",
    "monotone": "what passes at one level of a monotone parameter passes at weaker ones, which are not run",
    "lineage": "what touches nothing that a passing outcome was derived from passes, too, and is not run",
}

NOTHING_PROVED = "nothing is proved"
DIVERGED = f"{NOTHING_PROVED}: a repeated run differed"
"""How the texts of certificates begin that were withdrawn; a stored study is read by them."""

UNREPEATED = "the study ended before its runs were repeated in processes of their own"

CONFIDENCE = 0.95
"""With this probability an audit finds a rule that is wrong in as large a share of what it pruned as is printed."""


class ColdEvidence(NamedTuple):
    """What repeats in processes of their own have shown of a task.

    Attributes:
        text: How many were equal, and what runs change; empty where there were none.
        changed: The variables of modules that runs change.
        missing: The study was interrupted before they were made.
    """

    text: str
    changed: tuple[str, ...]
    missing: bool = False


NO_COLD_REPEATS = ColdEvidence("", ())


@dataclass(frozen=True, slots=True)
class Certificate:
    """A lower bound with what it rests on.

    Attributes:
        level: `"C0"` to `"C4"`, or `"S"`; see `LEVELS`.
        cost: Of the counterexample; `None` when none was found.
        lower_bound: Nothing cheaper breaks the contract; infinite when nothing within the budget does.
        budget: Up to which was searched.
        executed: Runs told to the search: its trials, and the runs of others that it has learned from.
        pruned: How many schedules each rule made unnecessary.
        audited: How many of those were executed as a check.
        contradictions: How many of those behaved otherwise than their rule says; then it was switched off.
        audited_of: How many of the audited were pruned by each rule.
        errors: Trials that ended as errors; the bound stays below the cheapest of them.
        unknown: Trials that told nothing of the contract; the bound stays below the cheapest of them, too.
        unknown_under: One of those with the fewest injections, as its schedule, and why, where that is known.
        limit_reached: The search ended at its limit of trials or seconds.
        reproduced: No repeated run of the task differed; without that nothing is proved.
        frozen: The target is stochastic, and what is proved holds for the frozen answers of the study.
        answers: How many minimal counterexamples within the budget are known, where several were wanted.
        known_below: Where several were wanted: all minimal ones cheaper than this are among them, as far as the rules
            tell schedules apart; infinite when all within the budget are.
        clean: Of a stochastic target: what further worlds of frozen answers have shown; with it the level is `"S"`.
        doubted: Something cheaper was seen violating, and fresh runs have not confirmed it.
        unseen: Of a stochastic target: where other draws of the answers went, and what was searched never did, the
            cheapest to inject at first; the bound stays below it.
        worlds_searched: How many worlds of frozen answers were searched.
        broken_anyway: Of a stochastic target: how often the contract breaks without injections, where it was seen to.
        near_limit: Share of a limit that some run has used, so that rule R3 was switched off; 0 where it was not.
        contradicted: Rules that a run has contradicted.
        undeclared: Variables that differed at merged checkpoints, which do not declare them: the audit began there.
        contradicted_by: Contract of another search of the task in which a run has contradicted rule R3; empty while
            none has. Either this search did without the rule, or what it had proved with it is withdrawn.
        disproved: What the searcher claimed and a run has contradicted; empty while nothing did.
        by_real_time: The counterexample is a run that the limit of real time has ended: confirmed, as it was made in
            two fresh workers, and never certified.
        reads: What the target's code asks for that differs from run to run, such as the real time, and how many repeats
            were equal all the same; empty where no such call was seen.
        cold_repeats: How many cold repeats were equal, and which module variables runs change; empty without any.
        changed: Module variables that runs change, where each run of the study does not have a process of its own.
        written: The files that the target writes, each with its place in the code: what they hold outlives runs and
            processes, so no repeat shows whether it matters.
        unrepeated: The study ended before its runs were repeated in processes of their own: until a resumed
            study has done that, nothing is proved.
        tied: In so many runs of the task a time-out and an answer fell on the same instant: what was set first came
            first, mostly the time-out, and the other order was not searched.
    """

    level: str
    cost: float | None
    lower_bound: float
    budget: float
    executed: int
    pruned: Mapping[str, int] = field(default_factory=dict)
    audited: int = 0
    contradictions: int = 0
    errors: int = 0
    unknown: int = 0
    unknown_reason: str = ""
    limit_reached: bool = False
    reproduced: bool = True
    frozen: bool = False
    answers: int | None = None
    known_below: float = 0.0
    clean: CleanRuns | None = None
    doubted: bool = False
    audited_of: Mapping[str, int] = field(default_factory=dict)
    unseen: tuple[UnvisitedSites, ...] = ()
    worlds_searched: int = 1
    broken_anyway: NominalShare | None = None
    near_limit: float = 0.0
    undeclared: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    contradicted_by: str = ""
    disproved: str = ""
    by_real_time: bool = False
    reads: str = ""
    cold_repeats: str = ""
    changed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    unrepeated: bool = False
    tied: int = 0

    @property
    def withdrawn(self) -> Certificate:
        """The same when a run of the task has diverged: nothing is proved."""
        return replace(self, level="C0", lower_bound=0.0, known_below=0.0, reproduced=False, clean=None, disproved="")

    @property
    def _switched_off(self) -> str:
        """Say which rules the search has given up after a contradiction."""
        rules = tuple(dict.fromkeys(self.contradicted))
        several = len(rules) > 1
        named = f"rule {' and rule '.join(rules)}" if rules else "what it rested on"
        return (
            f"{named} {'were' if several else 'was'} switched off and the search repeated without "
            f"{'them' if several else 'it'}"
        )

    @property
    def _missed(self) -> str:
        """Say how wrong a rule may be and still be missed by an audit of that size, or that it audited everything."""
        judged = [(rule, count, self.audited_of.get(rule, 0)) for rule, count in self.pruned.items() if count]
        # A search that began anew has counted again what its rules pruned, but not what was audited before.
        whole = [rule for rule, count, audited in judged if audited >= count and not self.near_limit]
        shares = [
            f"{rule} wrong in {math.ceil(100 * clean_share_max(audited, error=1 - CONFIDENCE))} %"
            for rule, _, audited in judged
            if audited and rule not in whole
        ]
        if self.contradictions or not (whole or shares):
            return ""
        told = [f"all that {rule} pruned" for rule in whole]
        if shares:
            first, *others = shares
            found = " or ".join([f"{first} of what it pruned", *others])
            told.append(f"which finds {found} with probability {CONFIDENCE:g}")
        return f" ({'; '.join(told)})"

    @property
    def _audited(self) -> str:
        """Say how many of the pruned were audited; what lies below them, or was pruned before, is counted apart."""
        # A searcher that does not tell rules apart has audited nothing but what it pruned.
        of_rules = sum(self.audited_of.values()) if self.audited_of else self.audited
        below = max(0, self.audited - of_rules)
        now = sum(min(count, self.pruned.get(rule, 0)) for rule, count in self.audited_of.items())
        earlier = of_rules - now if self.audited_of else 0
        told = [f"{of_rules - earlier} of the pruned audited"]
        if earlier:
            told.append(f"{earlier} pruned by earlier passes of the search")
        if below:
            told.append(f"{below} below pruned ones")
        return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"

    @property
    def _by_chance(self) -> list[str]:
        """Say what other draws of the answers have shown, a sentence each."""
        told = [] if self.clean is None else [str(self.clean)]
        if self.worlds_searched > 1:
            further = _many(self.worlds_searched - 1, "further set")
            told.append(f"{further} of answers searched that lead elsewhere, each schedule run once there")
        if self.unseen:
            told.append(describe_unseen(self.unseen))
        if self.broken_anyway is not None and self.cost != 0:
            told.append(f"broken without injections, too, with {self.broken_anyway}")
        return told

    @property
    def proved(self) -> bool:
        """Whether what it says is a proof, and not one for some answers with clean runs for others."""
        return self.is_repeated and not self.frozen

    @property
    def is_repeated(self) -> bool:
        """Whether runs were repeated, and none of them diverged."""
        return self.reproduced and not self.unrepeated

    @property
    def certified(self) -> bool:
        """Whether the counterexample is shown to be a cheapest one: proved, where the target is deterministic."""
        if self.by_real_time or not self.is_repeated or self.cost is None:
            return False
        return self.level != "C0" and self.lower_bound >= self.cost

    @property
    def safe(self) -> bool:
        """Whether it is shown that nothing within the budget breaks the contract: proved, where it is `proved`."""
        return self.is_repeated and self.cost is None and self.level != "C0" and self.lower_bound > self.budget

    @property
    def complete(self) -> bool:
        """Whether every minimal counterexample within the budget is known, where that was wanted."""
        if self.by_real_time or not self.is_repeated or self.answers is None:
            return False
        return self.level != "C0" and self.known_below > self.budget

    @property
    def _work(self) -> list[str]:
        """Say what was run and pruned, and how the rules did, a sentence each."""
        pruned = [f"{count} pruned by {rule}" for rule, count in self.pruned.items() if count]
        audit = f"{self._audited}, " + (
            f"{_many(self.contradictions, 'contradiction')}: {self._switched_off}"
            if self.contradictions
            else "no contradiction"
        )
        work = [", ".join([f"{self.executed} executed", *pruned]), audit + self._missed]
        if self.undeclared:
            work.append(f"the audit began where checkpoints leave out {list_names(self.undeclared)}")
        if self.contradicted_by:
            left = "what rested on it is withdrawn" if self.pruned.get("R3") else "it was switched off here, too"
            work.append(f"rule R3 was contradicted in the search for {self.contradicted_by}, and {left}")
        if self.near_limit:
            work.append(f"rule R3 was switched off as a run used {math.floor(100 * self.near_limit)} % of a limit")
        if self.errors:
            work.append(f"{_many(self.errors, 'trial')} ended as errors")
        if self.unknown:
            unknown = f"{_many(self.unknown, 'trial')} told nothing of the contract"
            if self.unknown_reason:
                unknown += f" ({'' if self.unknown == 1 else 'such as '}{self.unknown_reason})"
            if self.cost is None:
                unknown += f", no violation in the {_many(self.executed - self.unknown - self.errors, 'other')}"
            work.append(unknown)
        return work

    @property
    def _reservations(self) -> list[str]:
        """Say what the proof does not cover, a sentence each."""
        told: list[str] = []
        if self.by_real_time:
            told.append("broken by a limit of real time, which is no proof")
        told += [text for text in (self.reads, self.cold_repeats) if text]
        if self.written:
            files = f"the target writes {list_names(self.written, 'file')}"
            told.append(f"{files}, and chaosagent does not reset files between runs")
        if self.tied:
            instant = f"in {_many(self.tied, 'run')} a time-out and an answer fell on the same instant"
            told.append(f"{instant}, where what was set first comes first and the other order was not searched")
        if self.frozen:
            told.append("all this is for the frozen answers of this study")
        return told + self._by_chance

    def __str__(self) -> str:
        work = self._work
        if not self.reproduced:
            return _text(DIVERGED, work)
        if self.disproved:
            return _text(f"{NOTHING_PROVED}: {self.disproved}", work)
        if self.unrepeated and self.level != "C0":
            return _text(f"nothing is proved yet: {UNREPEATED}", work)
        work += self._reservations
        if self.cost == 0:
            share = "" if self.broken_anyway is None else f" with {self.broken_anyway}"
            return _text(f"broken without any injection{share}, so nothing was looked for", work)
        if self.answers and self.level != "C0" and self.known_below > 0:
            number = f"{self.answers} in all" if self.complete else f"{self.answers} found, dearer ones are open"
            reach = f"of cost up to {self.budget:g}" if self.complete else f"cheaper than {self.known_below:g}"
            ended = [ENDED] if self.limit_reached and not self.complete else []
            kept = "confirmed" if self.doubted else "minimal"
            return _text(f"{self.level}: all {kept} counterexamples {reach} are known, {number}", work + ended)
        none = "no schedule confirmed as violating and" if self.doubted else "no violating schedule"
        if self.certified:
            return _text(f"{self.level}: {none} cheaper than {self.cost:g}", work)
        if self.safe:
            return _text(f"{self.level}: {none} of cost up to {self.budget:g}", work)
        bound = (
            "nothing is proved about cheaper schedules"
            if self.lower_bound <= 0 or math.isinf(self.lower_bound)
            else (f"{none} cheaper than {self.lower_bound:g}, dearer ones are open")
        )
        return _text(f"{self.level}: {bound}", work + ([ENDED] if self.limit_reached else []))


ENDED = "the search ended at its limit"


def _text(claim: str, sentences: Sequence[str]) -> str:
    """Return a claim and what stands behind it, a sentence each; what is stored begins with the claim."""
    return ". ".join([claim, *(f"{one[:1].upper()}{one[1:]}" for one in sentences)]) + "."


VARIABLES_MAX = 3
"""How many undeclared variables are listed by name."""


def list_names(variables: Sequence[str], kind: str = "variable") -> str:
    """Return the names of variables, or of things of another kind, in one phrase, and how many more there are."""
    shown = ", ".join(variables[:VARIABLES_MAX])
    left = len(variables) - VARIABLES_MAX
    return f"{shown} and {_many(left, f'other {kind}')}" if left > 0 else shown


def _many(number: int, singular: str) -> str:
    return f"{number} {singular if number == 1 else singular + 's'}"
