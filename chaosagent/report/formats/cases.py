"""One case for each record, search or contract: what all formats are made of."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

TEXT_MAX = 4_000
"""How many characters of a text readers of the formats take without complaint."""

Status: TypeAlias = Literal["passed", "failed", "known", "open", "error"]
"""`known` is a failure that is expected, `open` what was neither broken nor proved; neither is a complaint."""


class Case(NamedTuple):
    """One case. Texts may come from a target, so each format escapes them.

    Attributes:
        rule: The contract, or what else was looked at; empty where nothing could be.
        name: Unique within its run, such as the path of a record.
        status: How it went.
        message: In one line; empty where there is nothing to say.
        detail: More lines; empty where there are none.
        path: Of a file that it is about; empty where there is none.
        fingerprint: By which another run knows the same case again; empty where its rule and name do.
        line: In the file, from 1; 0 is the whole file.
        seconds: Real time that it took; `None` where that is not known.
        warning: Of what passed: what somebody should look at all the same; empty where there is nothing.
    """

    rule: str
    name: str
    status: Status
    message: str = ""
    detail: str = ""
    path: str = ""
    fingerprint: str = ""
    line: int = 0
    seconds: float | None = None
    warning: str = ""
