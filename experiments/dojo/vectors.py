"""Where somebody else's text stands in an environment, and where it turns up in the answers of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.plan import leaves


class Found(NamedTuple):
    """A text in an answer that somebody else wrote.

    Attributes:
        vector: Of AgentDojo, such as `injection_bill_text`.
        text: The whole field that the vector is part of: a file, the body of an e-mail, a review.
    """

    vector: str
    text: str


class Vectors:
    """AgentDojo's injection vectors: the fields of an environment that somebody else can write.

    Args:
        suite: AgentDojo's.
        injections: Texts that stand in the vectors instead of AgentDojo's harmless ones.
    """

    def __init__(self, suite: Any, injections: Mapping[str, str]) -> None:
        self.names: tuple[str, ...] = tuple(sorted(suite.get_injection_vector_defaults()))
        marks = {name: f"---MARK_{name}---" for name in self.names}
        as_it_is = _texts(suite.load_and_inject_default_environment(dict(injections)))
        marked = _texts(suite.load_and_inject_default_environment(marks))
        found = {
            Found(name, as_it_is[path])
            for path, text in marked.items()
            for name, mark in marks.items()
            # An empty field cannot be told from any other.
            if mark in text and as_it_is.get(path)
        }
        # The longer ones first, should one hold another.
        self._known = tuple(sorted(found, key=lambda one: (-len(one.text), one)))
        self._length_min = min((len(one.text) for one in found), default=0)

    def in_answer(self, answer: Plain) -> tuple[Found, ...]:
        """Return the texts of others in an answer, each once, in the order of their places."""
        found: dict[Found, None] = {}
        self._search(answer, found)
        return tuple(found)

    def _search(self, answer: Plain, found: dict[Found, None]) -> None:
        if isinstance(answer, str):
            if len(answer) >= self._length_min:
                here = [(answer.index(known.text), known) for known in self._known if known.text in answer]
                found.update(dict.fromkeys(known for _, known in sorted(here)))
        elif isinstance(answer, Mapping):
            for value in answer.values():
                self._search(value, found)
        elif isinstance(answer, list | tuple):
            for value in answer:
                self._search(value, found)


def replaced(answer: Plain, before: str, after: str) -> Plain:
    """Return a copy of an answer with one text in the place of another."""
    if isinstance(answer, str):
        return answer.replace(before, after)
    if isinstance(answer, Mapping):
        return {key: replaced(value, before, after) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [replaced(value, before, after) for value in answer]
    return answer


def _texts(environment: Any) -> dict[tuple[str | int, ...], str]:
    return {path: leaf for path, leaf in leaves(environment.model_dump(mode="json")) if isinstance(leaf, str)}
