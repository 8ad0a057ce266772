"""Searchers propose and learn; they cannot run anything."""

from __future__ import annotations

import enum
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

from chaosagent.errors import ChaosAgentError, SearcherError, UnknownNameError, UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.online import Policy
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.registry import Registry

if TYPE_CHECKING:
    from chaosagent.study.memory.evaluation_log import EvaluationLog


class Purpose(enum.Enum):
    """Why a schedule is run.

    A violation that is met by exploring is shrunk at once, by the study, so what explores may be dearer than the
    budget; one that is met by certifying is minimal. What probes is run for what it tells of the target, whatever it
    breaks: it may be dearer than the budget, too, and is not shrunk by its own search.
    """

    EXPLORE = "explore"
    PROBE = "probe"
    SHRINK = "shrink"
    CERTIFY = "certify"
    AUDIT = "audit"


FREE = frozenset({Purpose.EXPLORE, Purpose.PROBE})
"""What may be dearer than the budget."""


class Proposal(NamedTuple):
    """A schedule that a searcher wants to have run, or a policy that chooses one inside the run.

    Attributes:
        schedule: What to inject; nothing where a policy chooses.
        purpose: Why.
        policy: Chooses what to inject. What is told afterwards is an evaluation of the schedule that it chose.
    """

    schedule: Schedule
    purpose: Purpose = Purpose.EXPLORE
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is searched: the cheapest schedule that breaks one contract of one task with one seed.

    Attributes:
        contract: Id of the contract.
        monitor: Its place among the verdicts, and so among the monitors of a fingerprint.
        space: What may be injected where, and what it costs.
        budget: The B of `cost(δ) ≤ B`.
        seed: Of the run.
        search_seed: From which the searcher's own random streams are derived.
        kinds_matter: The contract looks at the injections themselves, so that two operators with the same outcome
            differ.
        all_minimal: Every minimal counterexample within the budget is wanted, and not only a cheapest one: a searcher
            goes on behind a violation, but with nothing that holds a known one (`MinimalSets`). Its lower bound is then
            the cost up to which all are known, as far as its rules tell schedules apart.
        outcome_only: The contract judges the outcome of a run and nothing else of it.
        by_chance: Answers come by chance and are frozen: what is clean here may violate with other answers, so each
            kind of schedule has to be run once and not only inferred, for the study to race it.
        log: Holds every run before `tell` passes it to the searcher, in memory or on disk, so that the searcher need
            not keep it; `None` where `tell` passes something else, such as a run that was judged first.
    """

    contract: str
    monitor: int
    space: Space
    budget: float
    seed: int
    search_seed: int = 0
    kinds_matter: bool = False
    all_minimal: bool = False
    outcome_only: bool = False
    by_chance: bool = False
    log: EvaluationLog | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search has come.

    Attributes:
        lower_bound: Nothing cheaper than this breaks the contract within the declared space; 0 when nothing is known.
            When the whole space within the budget is known to be safe, it is above the budget: infinite.
        level: Of the certificate that the bound would give: `"C0"` to `"C4"`.
        pruned: How many schedules each rule made unnecessary; those below them are not counted.
        audited: How many pruned schedules were run and compared with what their rule says of them.
        contradictions: How many pruned schedules were found by an audit to behave otherwise than their rule says; each
            switched its rule off.
        audited_of: How many of the audited were pruned by each rule.
        near_limit: Share of a limit that some run has used, so that rule R3 was given up: a run that it makes
            unnecessary might have come to that limit. 0 where that was not so.
        contradicted: Rules that a run has contradicted.
        undeclared: Variables of the target that differed where runs were merged, as no checkpoint declares them; the
            audit ran what lies below those merges first.
    """

    lower_bound: float = 0.0
    level: str = "C0"
    pruned: Mapping[str, int] = field(default_factory=dict)
    audited: int = 0
    contradictions: int = 0
    audited_of: Mapping[str, int] = field(default_factory=dict)
    near_limit: float = 0.0
    undeclared: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()


class Searcher(Protocol):
    """Ask and tell. Its state is what it was told: tell a fresh one the same, and it goes on in the same way.

    `tell` takes evaluations in any order, also of schedules that it never asked for, and twice; a second one that
    contradicts the first is refused with a `UsageError`.
    """

    def ask(self, count: int) -> list[Proposal]:
        """Return at most `count` schedules to run; fewer, or none, when it waits for what it asked before."""
        ...

    def tell(self, evaluation: Evaluation) -> None:
        """Learn from one executed schedule."""
        ...

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask, however the trials in flight end."""
        ...

    @property
    def progress(self) -> SearchProgress:
        """How far it has come."""
        ...

    def audit(self, count: int) -> list[Proposal]:
        """Return schedules that a rule has pruned, to be run as a check on the rule; empty if it prunes nothing."""
        ...


@runtime_checkable
class KnowsCauses(Protocol):
    """A searcher that can tell which injections of a run matter; what is reduced then begins with those."""

    def core(self, evaluation: Evaluation) -> Schedule:
        """Return the injections of a run, told before, that most likely lead where it led."""
        ...


Core: TypeAlias = Callable[[Evaluation], Schedule]


@runtime_checkable
class KnowsOutcomes(Protocol):
    """A searcher that knows what some schedules do that were never run; what is reduced then needs fewer runs."""

    def known_to_hold(self, schedule: Schedule) -> bool:
        """Return whether what it was told shows that a schedule does not break the contract."""
        ...


@runtime_checkable
class ForeseesTrials(Protocol):
    """A searcher that can say what it will probably ask; workers that have nothing else to do run it ahead."""

    def likely(self) -> Iterator[Schedule]:
        """Yield what it will probably ask, soonest first, without changing what it does ask.

        The iterator is not used any more after the next call of any other method.
        """
        ...


@runtime_checkable
class RecallsTrials(Protocol):
    """A searcher that resumes sooner where it is known what it has asked in an earlier session."""

    def ask_as_before(self, proposal: Proposal, left: int) -> list[Proposal]:
        """Return what `ask(1)` would: with the same evaluations it has returned the proposal before.

        Where it cannot have returned that, as the proposal is of another search, it returns what it asks now.

        Args:
            proposal: What it has returned.
            left: So many further proposals follow before it is asked without knowing what it asked. Their runs are
                told one after the other, so what only matters for choosing may wait until then.
        """
        ...


@runtime_checkable
class AuditsFurther(Protocol):
    """A searcher whose audit depends on what it has shown so far."""

    def audit_further(self) -> list[Proposal]:
        """Return what is to be run after what `audit` or this has returned last was told; empty when that is enough.

        It is called until it is empty, or a rule was contradicted.
        """
        ...


@runtime_checkable
class GivesUpRules(Protocol):
    """A searcher that can do without a rule."""

    def give_up(self, rule: str) -> bool:
        """Search anew without a rule, as a run of another search has contradicted it; return whether it was in use."""
        ...


@runtime_checkable
class LearnsFromOthers(Protocol):
    """A searcher that gains by the runs of searches for other contracts of its task and seed; see `Together`."""

    def observe_other(self, evaluation: Evaluation) -> None:
        """Learn from a run that another search has asked for, as `tell` would; perhaps ask for less of that kind."""
        ...


SearcherFactory: TypeAlias = Callable[..., Searcher]
"""Makes a searcher for a problem; further keyword arguments are its settings in the study file."""

SEARCHERS: Registry[SearcherFactory] = Registry("searcher", "chaosagent.searchers", "chaosagent.searchers")

DEFAULT_SEARCHER = "anytime"
"""The name of the searcher of a study that names none."""


def factory_of(name: str, where: str = "") -> SearcherFactory:
    """Return what makes a searcher.

    Args:
        name: A registered one, or `module:attribute`.
        where: What messages call the place of the name.

    Raises:
        UnknownNameError: Nobody registered the name; the nearest known one is offered.
        UsageError: There is no such module or attribute, or it cannot be called.
        SearcherError: The module raises on import.
    """
    if ":" not in name:
        return SEARCHERS.get(name, where)
    module, _, attribute = name.rpartition(":")
    prefix = f"{where}: " if where else ""
    if not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"{prefix}{name!r}: {module!r} is no name of a module. Write module:Class, or file.py:Class.")
    try:
        loaded = importlib.import_module(module)
    except ChaosAgentError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise SearcherError(name, "its module", f"raised on import: {error}") from error
        raise UsageError(
            f"{prefix}searcher {name!r}: there is no module {module!r}. Install it, or put its file next to the study "
            "file and write file.py:Class."
        ) from error
    except (Exception, SystemExit) as error:  # plug-in loading is a seam: whatever a module raises is its own fault
        raise SearcherError(name, "its module", f"raised {type(error).__name__} on import: {error}") from error
    found: object = getattr(loaded, attribute, None)
    if found is None:
        known = [
            other for other, value in vars(loaded).items() if inspect.isclass(value) and value.__module__ == module
        ]
        raise UnknownNameError(f"searcher in {module}:", attribute, known, where)
    if not callable(found):
        raise UsageError(f"{prefix}searcher {name!r} is {type(found).__name__}; it must be a class or a function.")
    factory: SearcherFactory = found
    return factory
