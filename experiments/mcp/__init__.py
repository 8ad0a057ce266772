"""A clerk who pays invoices through an MCP server, and what the SDK does by default."""
