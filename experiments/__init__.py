"""Built-in targets and studies, each with its README, study file and measurements."""

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.experiments":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.experiments`. "
        "The folder experiments/ just keeps its files. Write `import chaosagent.experiments`, "
        "after `pip install -e .` in the checkout."
    )
