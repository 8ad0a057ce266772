"""The MCP server of the clerk: invoices, payments, mail and tickets, written with the SDK's own `MCPServer`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

POLICY = "Pay what is due. An invoice above 5000 needs the approval of a colleague: open a ticket and do not pay."


class Invoice(TypedDict):
    """What is known of an invoice; tools that return it have an output schema."""

    invoice: str
    vendor: str
    amount: int


class Payment(TypedDict):
    """What a payment did."""

    invoice: str
    amount: int
    repeated: bool


@dataclass(slots=True)
class Books:
    """What the server works with.

    Attributes:
        invoices: Vendors and amounts, by invoice.
        paid: Invoices that were paid, as often as they were.
        keys: Keys of payments that the bank has seen.
        sent: Invoices whose vendors were written to.
        tickets: What waits for a colleague.
    """

    invoices: dict[str, tuple[str, int]] = field(
        default_factory=lambda: {"I-17": ("Weber", 400), "I-18": ("Adler", 9000)}
    )
    paid: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    sent: list[str] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)

    def get_invoice(self, invoice: str) -> Invoice:
        """Read an invoice."""
        if invoice not in self.invoices:
            raise ToolError(f"there is no invoice {invoice}")
        vendor, amount = self.invoices[invoice]
        return Invoice(invoice=invoice, vendor=vendor, amount=amount)

    def pay(self, invoice: str, amount: int, key: str = "") -> Payment:
        """Pay an invoice; a second payment with the same key is none."""
        repeated = bool(key) and key in self.keys
        if not repeated:
            self.paid.append(invoice)
            self.keys.add(key)
        return Payment(invoice=invoice, amount=amount, repeated=repeated)

    def find_payments(self, invoice: str) -> dict[str, int]:
        """Look up how often an invoice was paid."""
        return {"payments": self.paid.count(invoice)}

    def notify(self, invoice: str) -> str:
        """Write to the vendor that an invoice was paid."""
        self.sent.append(invoice)
        return "sent"

    def open_ticket(self, invoice: str) -> str:
        """Hand an invoice to a colleague."""
        self.tickets.append(invoice)
        return "opened"


def make_server(books: Books | None = None) -> MCPServer:
    """Return a server with books of its own."""
    server, kept = MCPServer("books"), Books() if books is None else books
    for tool in (kept.get_invoice, kept.pay, kept.find_payments, kept.notify, kept.open_ticket):
        server.tool()(tool)
    server.resource("policy://payments")(policy)
    return server


def policy() -> str:
    """Say what may be paid."""
    return POLICY


if __name__ == "__main__":
    make_server().run("stdio")
