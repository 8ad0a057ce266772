"""Which extras can be installed together in one environment: each pair is resolved, and nothing is installed.

Run in a checkout, with uv installed: python -m chaosagent.experiments.installed_together
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

from chaosagent.clock import timestamp

EXTRAS = (
    *("dojo", "langgraph", "openai-agents", "pydantic-ai", "autogen"),
    *("crewai", "smolagents", "llama-index", "mcp", "proxy"),
)
"""Frameworks, AgentDojo and the servers; each is resolved together with the extra `all`."""
BASE = "all"
BEGIN, END = "<!-- resolved -->", "<!-- end -->"
AT_ONCE = 4
_BECAUSE = re.compile(r"Because (.+?) depends on (.+?)(?: and |, )", re.DOTALL)

Reasons = Mapping[frozenset[str], str]
"""Why extras cannot be installed together, empty where they can."""


def conflict_of(extras: frozenset[str], python: str) -> str:
    """Resolve extras with `all`, and return why that is not possible; empty when it is.

    Args:
        extras: Their names.
        python: For which version, such as `"3.12"`.

    Raises:
        FileNotFoundError: There is no uv.
    """
    named = [word for extra in (BASE, *sorted(extras)) for word in ("--extra", extra)]
    command = ["uv", "pip", "compile", "pyproject.toml", "--quiet", "--python-version", python, *named]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    told = " ".join(done.stderr.split())
    found = _BECAUSE.search(told)
    return f"{found[1]} needs {found[2]}" if found else told[:200]


def resolved(extras: Sequence[str], python: str) -> Reasons:
    """Return why each extra alone, and each pair, cannot be installed.

    Args:
        extras: Their names.
        python: For which version.
    """
    wanted = [frozenset(some) for count in (1, 2) for some in combinations(extras, count)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda some: conflict_of(some, python), wanted)
        return dict(zip(wanted, found, strict=True))


def table(extras: Sequence[str], reasons: Reasons) -> str:
    """Return the pairs as a table in Markdown, and below it why some exclude each other.

    Args:
        extras: Their names, in the order of rows and columns.
        reasons: As `resolved` returns them.
    """
    lines = [f"| | {' | '.join(f'`{extra}`' for extra in extras)} |", f"| --- |{' --- |' * len(extras)}"]
    for row in extras:
        cells = ["no" if reasons[frozenset({row, column})] else "yes" for column in extras]
        lines.append(f"| `{row}` | {' | '.join(cells)} |")
    told: dict[str, list[str]] = {}
    for some, why in reasons.items():
        if why and (len(some) == 1 or not any(reasons[frozenset({one})] for one in some)):
            told.setdefault(why, []).append(" with ".join(f"`{extra}`" for extra in sorted(some)))
    lines += ["", *(f"* {'; '.join(pairs)}: {why}" for why, pairs in told.items())]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Resolve, and print or write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE.md", help=f"put it between {BEGIN} and {END} there")
    parser.add_argument("--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}", help="version of Python")
    options = parser.parse_args(arguments)
    try:
        reasons = resolved(EXTRAS, options.python)
    except FileNotFoundError:
        print("uv is not installed; `pip install uv` brings it.", file=sys.stderr)
        return 2
    made = f"Resolved on {timestamp()[:10]} for Python {options.python}, each with the extra `{BASE}`:"
    text = f"{made}\n\n{table(EXTRAS, reasons)}"
    if options.write is None:
        print(text)
        return 0
    page = options.write.read_text("utf-8")
    if BEGIN not in page or END not in page:
        print(f"{options.write}: has no lines {BEGIN} and {END}, between which it would stand.", file=sys.stderr)
        return 2
    before, _, rest = page.partition(BEGIN)
    options.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
