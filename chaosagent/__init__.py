"""Search for faults that break LLM agent systems, and replay them."""
