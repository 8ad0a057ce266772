"""Built-in operators, one per file, one package per boundary."""

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.operators":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.operators`. "
        "The folder operators/ just keeps its files. Write `import chaosagent.operators`, "
        "after `pip install -e .` in the checkout."
    )
