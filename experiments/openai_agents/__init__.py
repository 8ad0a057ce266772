"""A support desk of the OpenAI Agents SDK: two agents, a hand-off, a session, and what the SDK does by default."""
