"""A support desk of two LangChain agents on LangGraph, and what breaks it."""
