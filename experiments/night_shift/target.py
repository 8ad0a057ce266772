"""A picker and a dispatcher who send tonight's orders.

The picker reads an order, takes its item from the shelf, writes a note and hands the order over; the dispatcher asks
for the price, has a courier come, and closes the order. `naive` makes three choices that are ordinary:

* where the courier's answer is lost, the dispatcher asks again, without looking (one fault: two pickups);
* the key of a reservation is kept in the notes, so that asking again is harmless as long as the note is there (two
  faults: a lost answer, and a note that is not there);
* where no courier answers, and his books cannot be read either, the order is closed all the same (three faults: closed,
  and nobody comes).

`careful` makes keys from what they are for, looks into the books before it asks again, and leaves open what it does not
know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.experiments.night_shift.warehouse import Warehouse
from chaosagent.targets.target import Door, Run, target
from chaosagent.vocabulary import Claim, Effect, Outcome, StatusError, SystemConfig, Task

TRIES = 2
FAILURES = (TimeoutError, ConnectionError, StatusError)
BUSY, QUIET = ("N-1", "N-2"), ("N-3",)


def taken(asked: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a reservation committed: nothing when its key was known."""
    if isinstance(answer, Mapping) and answer["repeated"]:
        return None
    return Effect("stock.taken", {"order": asked["order"]})


def booked(asked: Mapping[str, Plain], answer: Plain) -> Effect:
    """Return what a pickup committed."""
    del answer
    return Effect("courier.booked", {"order": asked["order"]})


def text_of(answer: Plain, name: str) -> str:
    """Return a text of an answer, empty where there is none."""
    found = answer.get(name) if isinstance(answer, Mapping) else None
    return found if isinstance(found, str) else ""


@target(
    name="night-shift",
    tasks=[Task("busy-night", input=BUSY), Task("quiet-night", input=QUIET)],
    configs=[SystemConfig("naive"), SystemConfig("careful", {"careful": True})],
)
async def night_shift(task: Task, run: Run) -> Outcome:
    """Two agents of a warehouse who send tonight's orders."""
    world = Warehouse([str(order) for order in task.input] if isinstance(task.input, list | tuple) else [])
    shift = Shift(
        run,
        careful=bool(run.config.settings.get("careful")),
        orders=run.service(
            "orders", {"open": world.open, "get": world.get, "close": world.close}, read_only=("open", "get")
        ),
        stock=run.service(
            "stock", {"shelf": world.shelf, "reserve": world.reserve}, effects={"reserve": taken}, read_only=("shelf",)
        ),
        courier=run.service(
            "courier",
            {"quote": world.quote, "book": world.book, "find": world.find},
            effects={"book": booked},
            read_only=("quote", "find"),
        ),
        notes=run.memory("notes"),
        team=run.message("team"),
    )
    return await shift.send_all()


@dataclass(frozen=True, slots=True)
class Shift:
    """The two agents.

    Attributes:
        run: Of which they are a part.
        careful: Whether they are the repaired ones.
        orders: Tonight's orders.
        stock: What lies on the shelves.
        courier: Who comes for parcels.
        notes: That both agents read and write.
        team: Through which they hand over.
    """

    run: Run
    careful: bool
    orders: Door
    stock: Door
    courier: Door
    notes: Door
    team: Door

    async def send_all(self) -> Outcome:
        """Send every open order, and report."""
        sent: list[str] = []
        with self.run.agent("picker"):
            answer = await self.orders("open")
        wanted = [str(order) for order in answer] if isinstance(answer, list) else []
        for order in wanted:
            with self.run.agent("picker"):
                picked = await self._pick(order)
            with self.run.agent("dispatcher"):
                if picked and await self._dispatch():
                    sent.append(order)
        claims = tuple(Claim("courier.booked", {"order": order}) for order in sent)
        return Outcome(f"sent: {', '.join(sent) or 'nothing'}", success=bool(sent) and sent == wanted, claims=claims)

    # ------------------------------------------------------------------ the picker

    async def _pick(self, order: str) -> bool:
        """Take the item of an order from its shelf and hand it over; return whether that was done."""
        try:
            details = await self.orders("get", order=order)
            shelf = text_of(await self.stock("shelf", item=text_of(details, "item")), "shelf")
            await self.notes("write", key=order, value={"key": f"{order}/{shelf}"})
            if not await self._reserve(order, shelf):
                return False
        except FAILURES:
            return False
        await self.team("send", to="dispatcher", body={"order": order, "to": text_of(details, "to")})
        return True

    async def _reserve(self, order: str, shelf: str) -> bool:
        for attempt in range(TRIES):
            try:
                await self.stock("reserve", order=order, shelf=shelf, key=await self._key(order, shelf, attempt))
            except (TimeoutError, ConnectionError):
                await self.run.clock.sleep(2.0**attempt)
            else:
                return True
        return False

    async def _key(self, order: str, shelf: str, attempt: int) -> str:
        """Return the key of a reservation, by which the stock knows that it was made before."""
        if self.careful:
            return f"{order}/{shelf}"
        return text_of(await self.notes("read", key=order), "key") or f"{order}/try {attempt}"

    # ------------------------------------------------------------------ the dispatcher

    async def _dispatch(self) -> bool:
        """Have a courier come for what was handed over; return whether it counts as sent."""
        handed = await self.run.receive("team", "dispatcher")
        order, to = text_of(handed, "order"), text_of(handed, "to")
        try:
            await self.courier("quote", to=to)
        except FAILURES:
            self.run.note("no price", order=order)
        if not await self._book(order, to):
            return False
        await self.orders("close", order=order)
        return True

    async def _book(self, order: str, to: str) -> bool:
        for attempt in range(TRIES):
            try:
                if self.careful and attempt and await self._is_booked(order):
                    return True
                await self.courier("book", order=order, to=to)
            except FAILURES:
                await self.run.clock.sleep(2.0**attempt)
            else:
                return True
        try:
            return await self._is_booked(order)
        except FAILURES:
            return not self.careful

    async def _is_booked(self, order: str) -> bool:
        found = await self.courier("find", order=order)
        return isinstance(found, Mapping) and bool(found.get("pickups"))
