"""What the prompts tell the model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompts:
    """The rules that the prompts lay down; they are kept where the model is served, and requests only name them.

    Attributes:
        follow_notes: Notes are instructions, whoever wrote them; otherwise what comes from an e-mail is only told.
        ask_person: What is not clear goes to a person; otherwise the customer gets a form letter and the ticket waits.
        go_on_unchecked: When a check gets no answer, the customer is believed.
        ground_answers: A question is answered only with a passage that has its words in it.
    """

    follow_notes: bool = True
    ask_person: bool = False
    go_on_unchecked: bool = True
    ground_answers: bool = False
