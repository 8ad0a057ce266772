"""A desk that pays refunds, behaviours of it, and records of what goes wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Nominal
from chaosagent.effects.rule import EffectRule
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.replays.declarations import declarations_of
from chaosagent.replays.record import Proof, ReplayRecord, nominal_run_in
from chaosagent.study.counterexample import signature_of
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Claim, Effect, Outcome, Severity, Task, Verdict

Behaviour = Callable[[Run, "Desk"], Awaitable[object]]
SPECS: tuple[Plain, ...] = ("at-most-once", "no-extra-effects", "no-crash", "termination")
LOST = "service:payments[1] service.lost_response(when=after)"
UNKNOWN = "service:ledger[1] service.lost_response(when=after)"
FORGOTTEN = f"{LOST}; {UNKNOWN}"
"""The answer to a payment is lost, and then the ledger does not answer either."""


def committed(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Say what a payment commits: nothing, when its key was there before."""
    assert isinstance(answer, dict)
    return None if answer["repeated"] else Effect("payment", {"order": arguments["order"]})


EFFECTS: Mapping[str, EffectRule] = {"pay": committed}


class Desk:
    """The world behind the doors, and the doors; a behaviour may give them other names and effects.

    Args:
        run: The run.
        payments: Name of the service that pays.
        ledger: Name of the service that knows what was paid.
        effects: Of the payments.
    """

    def __init__(
        self,
        run: Run,
        payments: str = "payments",
        ledger: str = "ledger",
        effects: Mapping[str, EffectRule] | None = None,
    ) -> None:
        self.paid: list[Plain] = []
        self._keys: set[object] = set()
        self.run = run
        reads = {"get": lambda order: {"order": order, "amount": 10}, "status": lambda order: {"open": order > 0}}
        writes = {"pay": self.payments_pay, "reserve": lambda order: f"hold {order}"}
        writes |= {"capture": self.payments_pay, "batch": self._batch}
        declared = effects if effects is not None else EFFECTS
        self.orders = run.service("orders", reads)
        self.ledger = run.service(ledger, {"find": lambda order: {"paid": order in self.paid}})
        self.payments = run.service(payments, writes, effects=declared)

    def payments_pay(self, order: int = 0, key: str | None = None, order_id: int = 0) -> Plain:
        order = order or order_id
        repeated = key is not None and key in self._keys
        self._keys.add(key)
        if not repeated:
            self.paid.append(order)
        return {"repeated": repeated}

    def _batch(self, orders: list[int], key: str | None = None) -> Plain:
        return [self.payments_pay(order, None if key is None else f"{key}-{order}") for order in orders]


def desk(behaviour: Callable[[Run], Awaitable[object]]) -> Target:
    """Return a target that behaves so."""

    @target(name="desk", tasks=[Task("refund", input=7)])
    async def serve(_: Task, run: Run) -> Outcome:
        said = await behaviour(run)
        return Outcome(str(said), success=True, claims=(Claim("payment", {"order": 7}),))

    return serve


def record_of(
    behaviour: Callable[[Run], Awaitable[object]],
    schedule: str,
    contract: str = "at-most-once",
    specs: tuple[Plain, ...] = SPECS,
    *,
    declared: bool = True,
    secrets: tuple[str, ...] = (),
) -> ReplayRecord:
    """Return the record of a run that breaks a contract; without declarations, as it was made before version 3."""
    return record_of_target(replace(desk(behaviour), secrets=secrets), schedule, contract, specs, declared=declared)


def record_of_target(
    system: Target, schedule: str, contract: str, specs: tuple[Plain, ...], *, declared: bool = True
) -> ReplayRecord:
    """Return the record of a run of the task `refund` that breaks a contract."""
    contracts = tuple(parse_contract(spec) for spec in specs)
    bare = Experiment(system, system.task("refund"), system.config("default"), 0, contracts)
    undisturbed = execute(bare, EMPTY)
    nominal = undisturbed.trace
    experiment = replace(bare, nominal=Nominal(nominal.effects, nominal.outcome))
    parsed = parse(schedule)
    trace = execute(experiment, parsed).trace
    assert trace.verdict(contract).verdict is Verdict.VIOLATED
    return ReplayRecord(
        target_reference=system.name,
        target_name=system.name,
        task=experiment.task,
        config=experiment.config,
        seed=0,
        contract=contract,
        contract_specs=specs,
        limits=experiment.limits,
        schedule=parsed,
        cost=1.1 * len(parsed),
        signature=signature_of(trace, contract, Severity.HARD, parsed),
        nominal=Nominal(nominal.effects, nominal.outcome),
        trace=trace,
        trace_digest=trace.digest,
        proof=Proof(certified=True, lower_bound=1.1, text="", necessity=()),
        undisturbed=nominal_run_in(nominal) if declared else None,
        declarations=declarations_of(contracts, undisturbed.doors, system.objective) if declared else None,
    )
