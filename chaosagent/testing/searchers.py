"""The conformance suite that every searcher passes, built in or a stranger's.

    from chaosagent.testing.searchers import SearcherConformance

    class TestGreedy(SearcherConformance):
        make = Greedy

pytest collects the class; nothing here needs pytest, so any runner that calls methods named `test_...` will do.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.seeds import derive
from chaosagent.study.searcher import FREE, Problem, Proposal, Searcher
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle, StepNeedle
from chaosagent.testing.payer import payer

BUDGET = 2.3
CONTRACTS = ("final-needle", "step-needle", "rare-needle")


@functools.cache
def bench() -> Bench:
    """Return what searchers are tried on: calls in parallel, retries, a fallback's places, a payment."""
    space = Space(
        [
            Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",)),
            Choices("service.lost_response", {}),
            Choices("service.duplicate_delivery", {"which": ("first",)}),
            Choices("service.stale_response", {}),
        ]
    )
    needles = (
        FinalNeedle(share=6, number=5),
        StepNeedle(share=10, number=3),
        FinalNeedle(share=10_000, id="rare-needle"),
    )
    return Bench(payer(), needles, space)


class SearcherConformance:
    """Subclass it in a test module and say how the searcher is made.

    Attributes:
        make: Makes the searcher for a problem, as the registry holds it.
        trials_max: Trials after which a searcher that has not finished is stopped; fewer for one that is slow.
    """

    make: ClassVar[Any]
    trials_max: ClassVar[int] = 250

    # ---------------------------------------------------------------- asking

    def test_it_never_asks_for_more_than_it_may(self) -> None:
        for count in (1, 3, 16):
            for searcher, asked in self._searches(count):
                assert len(asked) <= count, f"ask({count}) returned {len(asked)} proposals."
                assert searcher.ask(0) == [], "ask(0) returned proposals."

    def test_it_never_asks_twice_for_the_same(self) -> None:
        for count in (1, 5, 16):
            for contract in CONTRACTS:
                asked = [(schedule, policy) for schedule, _, policy in self._asked(contract, count)]
                twice = [one for one in set(asked) if asked.count(one) > 1]
                assert not twice, f"It asked more than once for: {twice[0][1] or twice[0][0]}"

    def test_what_it_asks_for_lies_within_space_and_budget(self) -> None:
        space = bench().space
        for contract in CONTRACTS:
            for proposal in (*self._asked(contract, 7), *self._finished(contract).audit(20)):
                schedule = bench().answer(proposal).schedule
                cost = schedule.declared_cost(space.model)
                within = cost <= BUDGET + 1e-9 or proposal.purpose in FREE
                assert within, f"{schedule} costs {cost}, the budget is {BUDGET}."
                for injection in schedule:
                    hook = injection.hook
                    allowed = [one.operator for one in space.at(hook.boundary, hook.interface, hook.agent)]
                    assert injection.operator in allowed, f"{injection} lies outside the space."
                    assert hook.single, f"{injection} is no injection at one place."

    def test_it_does_not_wait_for_what_it_asked(self) -> None:
        searcher = self._new(CONTRACTS[0])
        searcher.tell(bench().run(EMPTY))
        assert searcher.ask(4), "It knows the run without injections and asks for nothing."
        searcher.ask(4)  # nothing told in between

    def test_it_comes_to_an_end_and_then_asks_for_nothing(self) -> None:
        searcher = self._finished("rare-needle")
        if searcher.finished:
            assert searcher.ask(10) == [], "It has finished and asks for more."
        fresh = self._new("rare-needle")
        assert not fresh.finished, "It has finished before it knows anything."

    def test_once_finished_it_has_finished_whatever_it_is_told_of_what_is_out(self) -> None:
        for contract, broken_every in ((CONTRACTS[0], 0), ("rare-needle", 0), ("rare-needle", 4)):
            self._check_end(self._new(contract), 9, broken_every)

    # ---------------------------------------------------------------- telling

    def test_it_takes_what_it_was_told_twice_and_refuses_what_contradicts(self) -> None:
        searcher = self._new(CONTRACTS[0])
        nominal = bench().run(EMPTY)
        searcher.tell(nominal)
        before = searcher.progress
        searcher.tell(nominal)
        assert searcher.progress == before, "Being told the same again changed how it stands."
        try:
            searcher.tell(replace(nominal, digest="another"))
        except UsageError:
            return
        raise AssertionError("It was told two different outcomes of one schedule and did not raise a UsageError.")

    def test_it_takes_tells_in_any_order(self) -> None:
        for contract in CONTRACTS:
            truth = bench().minimum(contract, BUDGET)
            searcher, rng = self._new(contract), derive(0, "order", contract)
            out: list[Proposal] = []
            for _ in range(self.trials_max):
                out.extend(searcher.ask(8 - len(out)))
                if not out:
                    break
                searcher.tell(bench().answer(out.pop(rng.randrange(len(out)))))
                self._check_bound(searcher, truth)

    def test_it_takes_what_it_never_asked_for_and_does_not_ask_for_it(self) -> None:
        for contract in CONTRACTS:
            told = [bench().answer(proposal) for proposal in self._asked(contract, 1)[:20]]
            searcher = self._new(contract)
            for evaluation in reversed(told):
                searcher.tell(evaluation)
            asked = [proposal.schedule for proposal in self._drive(searcher, 5) if proposal.policy is None]
            again = set(asked) & {evaluation.schedule for evaluation in told}
            assert not again, f"It was told {next(iter(again))} before, and asked for it."

    def test_its_state_is_the_log_of_what_it_was_told(self) -> None:
        for contract in CONTRACTS:
            for length in sorted({min(length, self.trials_max) for length in (1, 2, 7, 30)}):
                first = self._new(contract)
                log: list[Evaluation] = []
                while len(log) < length and (proposals := first.ask(1)):
                    log.append(bench().answer(proposals[0]))
                    first.tell(log[-1])
                second = self._new(contract)
                for evaluation in log:
                    second.tell(evaluation)
                goes_on, restored = self._go_on(first), self._go_on(second)
                assert goes_on == restored, (
                    f"After {len(log)} tells it goes on with {goes_on[:2]}, a fresh one told the same with "
                    f"{restored[:2]}. Keep nothing that does not follow from what was told."
                )

    def test_equal_problems_are_searched_in_the_same_way(self) -> None:
        for contract in CONTRACTS:
            assert self._asked(contract, 5) == self._asked(contract, 5)

    # ---------------------------------------------------------------- proving

    def test_its_bound_is_true_and_never_falls(self) -> None:
        for count in (1, 16):
            for contract in CONTRACTS:
                truth = bench().minimum(contract, BUDGET)
                searcher, bound = self._new(contract), 0.0
                for _ in self._drive(searcher, count):
                    now = self._check_bound(searcher, truth)
                    assert now >= bound, f"The lower bound fell from {bound} to {now}."
                    bound = now

    def test_its_bound_stays_below_what_could_not_be_run(self) -> None:
        for contract in CONTRACTS:
            searcher, model = self._new(contract), bench().space.model
            costs = [float("inf")]
            for number, proposal in enumerate(self._drive(searcher, 4, broken_every=5)):
                if number % 5 == 4:
                    costs.append(proposal.schedule.declared_cost(model))
            bound = searcher.progress.lower_bound
            assert bound <= min(costs), f"The lower bound is {bound}; a schedule of cost {min(costs)} could not be run."

    def test_its_audit_can_be_told(self) -> None:
        for contract in CONTRACTS:
            searcher = self._finished(contract)
            truth = bench().minimum(contract, BUDGET)
            proposals = searcher.audit(12)
            schedules = [proposal.schedule for proposal in proposals]
            assert len(set(schedules)) == len(schedules), "An audit names a schedule twice."
            for schedule in schedules:
                searcher.tell(bench().run(schedule))
            assert searcher.progress.contradictions == 0, "An honest target contradicts a rule of the searcher."
            self._check_bound(searcher, truth)

    # ---------------------------------------------------------------- what drives it

    def _new(self, contract: str) -> Searcher:
        found: Searcher = type(self).make(self._problem(contract))
        return found

    @staticmethod
    def _problem(contract: str) -> Problem:
        return bench().problem(contract, BUDGET)

    def _searches(self, count: int) -> Iterator[tuple[Searcher, list[Proposal]]]:
        """Yield searchers, with what each ask returned."""
        for contract in CONTRACTS:
            searcher = self._new(contract)
            for _ in range(self.trials_max // count):
                asked = searcher.ask(count)
                if not asked:
                    break
                yield searcher, asked
                for proposal in asked:
                    searcher.tell(bench().answer(proposal))

    def _check_end(self, searcher: Searcher, count: int, broken_every: int) -> None:
        """Drive a searcher to its end, and check that it says so when it is there, and not before."""
        out: list[Proposal] = []
        for number in range(self.trials_max):
            asked = searcher.ask(count - len(out))
            out.extend(asked)
            had_finished = searcher.finished
            if not out:
                assert had_finished, "It asks for nothing, nothing is out, and it has not finished."
                return
            proposal = out.pop(0)
            broken = broken_every and number % broken_every == broken_every - 1
            failed = Evaluation(proposal.schedule, Status.ERROR, "killed")
            searcher.tell(failed if broken else bench().answer(proposal))
            assert searcher.finished or not had_finished, (
                f"It had finished while {len(out) + 1} of what it had asked for were out, and has not any more."
            )

    def _drive(self, searcher: Searcher, count: int, *, broken_every: int = 0) -> Iterator[Proposal]:
        """Ask and tell in order with some trials in flight; yield each proposal once it was told."""
        out: list[Proposal] = []
        for number in range(self.trials_max):
            out.extend(searcher.ask(count - len(out)))
            if not out:
                return
            proposal = out.pop(0)
            if broken_every and number % broken_every == broken_every - 1:
                searcher.tell(Evaluation(proposal.schedule, Status.ERROR, "killed"))
            else:
                searcher.tell(bench().answer(proposal))
            yield proposal

    def _asked(self, contract: str, count: int) -> list[Proposal]:
        return list(self._drive(self._new(contract), count))

    def _finished(self, contract: str) -> Searcher:
        searcher = self._new(contract)
        for _ in self._drive(searcher, 4):
            pass
        return searcher

    def _go_on(self, searcher: Searcher) -> list[Proposal]:
        found: list[Proposal] = []
        while len(found) < min(20, self.trials_max) and (proposals := searcher.ask(1)):
            found += proposals
            searcher.tell(bench().answer(found[-1]))
        return found

    @staticmethod
    def _check_bound(searcher: Searcher, truth: float | None) -> float:
        """Check that a claimed bound is true, and return it."""
        bound = searcher.progress.lower_bound
        assert truth is None or bound <= truth, (
            f"It claims that nothing cheaper than {bound} breaks the contract; something of cost {truth} does."
        )
        return bound
