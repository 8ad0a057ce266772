"""A bookkeeper that books a transfer in a real Redis server; the connection to it is disturbed."""

from chaosagent.extras import require

require("redis", extra="dev", needed_by="the ledger example")
