"""A small agent to begin with; replace its parts by your own.

`chaosagent search study.yaml` looks for the cheapest faults that break it. Try it as it is first: no contract is
written here, and the default ones already find something.
"""

from collections.abc import Mapping

from chaosagent import Claim, Outcome, Run, StatusError, Task, effect, target

ATTEMPTS_MAX = 3

# A task is one thing that the agent is asked to do. Name the channels through which somebody else's text reaches it.
TASKS = [
    Task("refund-lost-parcel", input={"order": "A-17"}, untrusted=("customer's note",)),
    Task("answer-question", input={"order": "B-2"}, untrusted=("customer's note",)),
]


class Shop:
    """What stands behind the doors: here a stand-in, in your project the real client or its test double."""

    def get_order(self, order: str) -> dict[str, object]:
        """Look up an order."""
        lost = order.startswith("A")
        return {"order": order, "amount": 40, "status": "lost" if lost else "on its way", "note": "Where is it?"}

    def refund(self, order: str, amount: int) -> dict[str, object]:
        """Pay an order back."""
        return {"order": order, "amount": amount, "done": True}

    def send(self, order: str, text: str) -> dict[str, object]:
        """Write to the customer."""
        return {"order": order, "length": len(text)}


@target(name="starter", tasks=TASKS)
async def agent(task: Task, run: Run) -> Outcome:
    """Refund what was lost, and tell the customer."""
    shop = Shop()
    # Doors are the only ways to the world. `effects` says which operations change it, and what makes two changes the
    # same one: leave out ids and times that are generated anew, or nothing is ever done twice. `read_only` says which
    # do not. The faults are injected here.
    orders = run.service("orders", {"get": shop.get_order}, read_only=True)
    payments = run.service("payments", {"refund": shop.refund}, effects={"refund": effect("order", "amount")})
    mail = run.service("mail", {"send": shop.send}, effects={"send": effect("order")}, egress=True)

    order_id = task.input["order"] if isinstance(task.input, Mapping) else ""
    with run.agent("support"):
        order = await orders("get", order=order_id)
        claims: tuple[Claim, ...] = ()
        if order["status"] == "lost":
            # The mistake: whoever asks again after a lost answer may pay twice. Ask with an idempotency key, or look
            # whether the refund was made before asking again.
            for attempt in range(ATTEMPTS_MAX):
                try:
                    await payments("refund", order=order_id, amount=order["amount"])
                    claims = (Claim("payments.refund", {"order": order_id}),)
                    break
                except (TimeoutError, ConnectionError, StatusError):
                    await run.clock.sleep(2.0**attempt)
        text = "Your money is on its way." if claims else f"Your order is {order['status']}."
        await mail("send", order=order_id, text=text)
    # `success` is your own check of the final state; `claims` are what the message says was done.
    return Outcome(text, success=bool(claims) or order["status"] != "lost", claims=claims)
