"""A bookkeeper that pays an invoice: looks at the balance, books the transfer, and tries again when the line breaks."""

from __future__ import annotations

from typing import Any

from redis import exceptions

from chaosagent.canonical import Plain
from chaosagent.experiments.ledger.books import Books, opened
from chaosagent.experiments.ledger.server import address
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Effect, Outcome, SystemConfig, Task

ATTEMPTS_MAX = 3
BETWEEN_SECONDS = 0.05
BROKEN = (exceptions.ConnectionError, exceptions.TimeoutError)
BALANCES = {"ada": 100, "bob": 0}
INVOICE: dict[str, Plain] = {"number": "I-7", "source": "ada", "to": "bob", "amount": 40}


@target(
    name="ledger",
    clock="wall",
    tasks=[Task("invoice", input=INVOICE)],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"references": True})],
)
async def bookkeeper(task: Task, run: Run) -> Outcome:
    """Pay an invoice from a ledger in Redis."""
    invoice: Any = task.input

    async def connect(host: str, port: int) -> Books:
        async with opened(address()) as direct:
            await direct.begin(BALANCES)
        return Books(host, port)

    async def committed() -> list[Effect]:
        async with opened(address()) as direct:
            return await direct.entries()

    ledger = run.network("ledger", address, connect, committed=committed, read_only=["balance"], errors=BROKEN)
    message, claims = await _pay(invoice, ledger, run)
    return Outcome(message, claims=claims, success=bool(claims))


async def _pay(invoice: Any, ledger: Any, run: Run) -> tuple[str, tuple[Claim, ...]]:
    reference = {"reference": invoice["number"]} if run.config.settings.get("references") else {}
    transfer = {name: invoice[name] for name in ("source", "to", "amount")}
    try:
        balance = await _tried(run, ledger, "balance", {"of": invoice["source"]})
        if balance < invoice["amount"]:
            return f"Invoice {invoice['number']} is not paid: {balance} are left.", ()
        await _tried(run, ledger, "transfer", transfer | reference)
    except BROKEN:
        return f"Whether invoice {invoice['number']} is paid is not known; please look.", ()
    return f"Invoice {invoice['number']} is paid.", (Claim("ledger.transfer", transfer),)


async def _tried(run: Run, ledger: Any, operation: str, arguments: dict[str, Any]) -> Any:
    """Ask the ledger, again if the line breaks."""
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            return await ledger(operation, **arguments)
        except BROKEN:
            if attempt == ATTEMPTS_MAX:
                raise
            await run.clock.sleep(BETWEEN_SECONDS)
    raise AssertionError("never reached")
