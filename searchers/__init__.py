"""Built-in searchers, one per file."""

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.searchers":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.searchers`. "
        "The folder searchers/ just keeps its files. Write `import chaosagent.searchers`, "
        "after `pip install -e .` in the checkout."
    )
