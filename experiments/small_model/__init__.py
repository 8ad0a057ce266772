"""A support desk whose policy is a small language model that runs in this process, and its study."""
