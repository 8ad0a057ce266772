"""Doors for agents that were written with a framework: one package each, loaded only where it is used."""

__all__ = [
    "autogen",
    "command",
    "crewai",
    "functions",
    "langgraph",
    "llama_index",
    "mcp",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
]
