"""Tools as a model may call them: the grammar of all calls that are allowed, and calls as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain

FINISH = "finish"
"""What the model says when nothing is left to be done."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, and what it may be called with.

    Attributes:
        name: A word.
        arguments: The values that each argument may have, texts without blanks; the arguments in the order in which
            they are written.
    """

    name: str
    arguments: Mapping[str, Sequence[str]]

    def described(self) -> dict[str, Plain]:
        """Return its description for a model, as plain data."""
        arguments: list[Plain] = [[name, list(values)] for name, values in self.arguments.items()]
        return {"name": self.name, "arguments": arguments}


def tool_of(described: Mapping[str, object]) -> Tool:
    """Return the tool that was described as plain data."""
    arguments = described["arguments"]
    assert isinstance(arguments, Sequence)
    return Tool(str(described["name"]), {str(name): tuple(values) for name, values in arguments})


def grammar_of(tools: Sequence[Tool]) -> str:
    """Return the grammar of one call of one of the tools, or of the end, in llama.cpp's notation GBNF.

    A line begins with a blank, as words inside of a text do: so they are the tokens that the model knows best.
    """
    calls = [" ".join([f'" {tool.name}"', *map(_choice, tool.arguments.values())]) for tool in tools]
    return "root ::= (" + " | ".join([*calls, f'" {FINISH}"']) + ') "\\n"\n'


def _choice(values: Sequence[str]) -> str:
    return "(" + " | ".join(f'" {value}"' for value in values) + ")"


def read_call(text: str, tools: Sequence[Tool]) -> dict[str, Plain] | None:
    """Return the call that a line of the grammar stands for, `None` for the end.

    Raises:
        ValueError: The line stands for neither.
    """
    name, *values = text.split() or [""]
    if [name, *values] == [FINISH]:
        return None
    for tool in tools:
        if tool.name == name and len(values) == len(tool.arguments):
            return {"name": name, "arguments": dict(zip(tool.arguments, values, strict=True))}
    raise ValueError(f"{text!r} calls no tool among {', '.join(tool.name for tool in tools)}")


def written(name: str, arguments: Mapping[str, object]) -> str:
    """Return a call as a line, as the grammar has it."""
    return " ".join([name, *map(str, arguments.values())])
