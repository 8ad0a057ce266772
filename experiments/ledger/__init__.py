"""A bookkeeper that books a transfer in a real Redis server; the connection to it is disturbed."""
