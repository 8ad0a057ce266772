"""An attacker has written into what a retriever finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults, parameter
from chaosagent.operators.passages import Passage, with_passages
from chaosagent.operators.payloads import CANARIES, CANARY, CHARACTERS_MAX, ENCODINGS, GOALS, payload
from chaosagent.operators.texts import token_count, with_text
from chaosagent.operators.words import Words


@dataclass(frozen=True, slots=True)
class PoisonedPassage(OperatorDefaults):
    """Somebody else's instructions stand in a passage, or in one more.

    Attributes:
        goal: What the attacker wants: `override`, `tool_result`, `exfiltration` or `policy`.
        encoding: How it is written: `plain`, `html_comment`, `base64`, `zero_width` or `other_language`.
        place: At the end of the `best` passage's text, or as a passage of its `own`, before all others.
        canary: A word in it that a contract can look for, at most 32 characters.
    """

    name = "retrieval.poisoned_passage"
    by_default = False

    goal: str = parameter("override", GOALS)
    encoding: str = parameter("plain", ENCODINGS)
    place: str = parameter("best", Words("best", also=("own",)))
    canary: str = parameter(CANARY, CANARIES)

    @property
    def magnitude(self) -> float:
        """The share of the allowed length."""
        return len(self._text) / CHARACTERS_MAX

    @property
    def tokens(self) -> int:
        """Those of the payload."""
        return token_count(self._text)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_passages(response.value, self._poisoned))

    def describe(self) -> str:
        where = "the best passage holds" if self.place == "best" else "one more passage is"
        return f"{where} a payload: {self.goal}, {self.encoding}"

    @property
    def _text(self) -> str:
        return payload(self.goal, self.encoding, self.canary)

    def _poisoned(self, passages: Sequence[Passage]) -> list[Passage]:
        best = passages[0]
        text = best.get("text")
        if not isinstance(text, str):
            return list(passages)
        if self.place == "best":
            changed = with_text(text, self._text, "end")
            return [{**best, "text": changed}, *passages[1:]]
        own = {**best, "text": self._text}
        identity = best.get("id")
        if isinstance(identity, str):
            own["id"] = f"{identity}-copy"
        return [own, *passages]
