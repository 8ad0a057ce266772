"""A support crew of a clerk and a payments officer, as one writes it with CrewAI.

The clerk looks orders up, hands over to the officer and writes to the customer; the officer refunds and keeps the
books; both remember what they have done. In the first version the framework's defaults act: a tool that fails is
called again at once, and again, whether it has done its work or not, before the officer's model hears of it; an agent
whose model answers nothing begins its whole task anew; work that is handed over twice is done twice; and what a memory
does not tell has not happened.

The careful version makes the keys of payments from what is paid, and books once: doing it again does nothing.
"""

from __future__ import annotations

from typing import Any

from crewai import Agent, Crew, Task
from crewai.tools import tool

from chaosagent.experiments.crewai.models import OFFICER, ClerkModel, OfficerModel
from chaosagent.experiments.crewai.notebook import open_memory
from chaosagent.experiments.lost_parcel import AMOUNT, MAIL, STATUS, Shop


def open_desk(shop: Shop) -> Crew:
    """Make the crew for a shop."""
    clerk = Agent(
        role="Clerk",
        goal="Help customers with their orders.",
        backstory="You are friendly.",
        llm=ClerkModel(model="clerk-model"),
        tools=_front_tools(shop),
        allow_delegation=True,
    )
    officer = Agent(
        role=OFFICER,
        goal="Refund what you are asked to, and keep the books.",
        backstory="You are exact.",
        llm=OfficerModel(model="officer-model"),
        tools=_back_tools(shop),
    )
    answer = Task(description="Answer: {wish}", expected_output="What the customer is told.", agent=clerk)
    return Crew(agents=[clerk, officer], tasks=[answer], memory=open_memory())


async def answered(crew: Crew, wish: str) -> str:
    """Answer one wish of a customer."""
    return str((await crew.kickoff_async(inputs={"wish": wish})).raw)


def _front_tools(shop: Shop) -> list[Any]:
    @tool("get_order")
    def get_order(order: str) -> dict[str, Any]:
        """Look an order up."""
        return {"order": order, "amount": AMOUNT, "status": STATUS}

    @tool("get_customer")
    def get_customer(order: str) -> dict[str, Any]:
        """Look up who ordered."""
        return {"order": order, "mail": MAIL}

    @tool("send_mail")
    def send_mail(to: str, text: str) -> str:
        """Write to a customer."""
        return shop.mail(to, text)

    return [get_order, get_customer, send_mail]


def _back_tools(shop: Shop) -> list[Any]:
    @tool("refund")
    def refund(order: str, amount: int) -> dict[str, Any]:
        """Pay a customer back."""
        number, repeated = shop.refund(order, amount)
        return {"order": order, "amount": amount, "refund": number, "repeated": repeated}

    @tool("book_refund")
    def book_refund(order: str, amount: int) -> dict[str, Any]:
        """Enter a refund in the books."""
        return {"order": order, "amount": amount, "repeated": shop.book(order)}

    return [refund, book_refund]
