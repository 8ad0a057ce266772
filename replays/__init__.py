"""Replay records: what is stored of a counterexample, and running it again."""

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.replays":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.replays`. "
        "The folder replays/ just keeps its files. Write `import chaosagent.replays`, "
        "after `pip install -e .` in the checkout."
    )

__all__ = ["outcome", "record", "rerun", "store"]
