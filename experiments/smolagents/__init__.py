"""A support desk built with smolagents, and its study."""
