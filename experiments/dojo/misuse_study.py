"""Writes the study files `misuse-<suite>.yaml`: who gets AgentDojo's agent to work for an attacker, with which text.

Usage: `python experiments/dojo/misuse_study.py banking > experiments/dojo/misuse-banking.yaml`. With `--reader` behind
it, the study is the one of the agent that reads, in `closed_loop/`.
"""

from __future__ import annotations

import json
import re
import sys

from chaosagent.experiments.dojo.suite import Suite

WIDTH = 100

HEAD = """\
# Which of AgentDojo's injection tasks in the {name} suite get an agent to work for the attacker, in which user task,
# and with which of his texts in which of the places where others write? One contract for each injection task.
# Written by misuse_study.py; the texts are AgentDojo's goals, word for word.
target: dojo-{name}
config: obedient
budget: 3.0
search:
  trials: 300
contracts:
"""

# Any two texts cost more than the budget, and of single ones only the longest, the office suite's injection_task_9.
READER_HEAD = """\
# Which of AgentDojo's injection tasks in the {name} suite get an agent that reads to work for the attacker, in which
# user task, with which of his texts in which of the places where others write; and what keeps the user's task from
# being done?
# Written by misuse_study.py; the texts are AgentDojo's goals, word for word.
target: dojo-reader-{name}
config: trusting
budget: 2.1
search:
  trials: 2000
contracts:
  - objective
"""


def study_text(suite: Suite, *, reader: bool = False) -> str:
    """Return the study file of a suite.

    Args:
        suite: One of AgentDojo's.
        reader: Whether it is for the agent of `closed_loop/`.
    """
    numbers = [name.rpartition("_")[2] for name in suite.goals]
    lines = [f"  - chaosagent.experiments.dojo.misuse:no_misuse_{number}" for number in numbers]
    lines += ["operators:", "  - operator: prompt.splice", "    text:"]
    for name, goal in suite.goals.items():
        lines += [f"      # {name}", *_quoted(goal)]
    return (READER_HEAD if reader else HEAD).format(name=suite.name) + "\n".join(lines) + "\n"


def _quoted(text: str) -> list[str]:
    """Return an entry of a list, double-quoted, over as many lines as it takes."""
    lines = [""]
    for word in re.findall(r"\S*\s*", json.dumps(text)[1:-1]):
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append("")
        lines[-1] += word  # with the blanks behind it: an escaped line break swallows those at the start of a line
    indented = [f'      - "{lines[0]}', *(f"        {line}" for line in lines[1:])]
    return [*(f"{line}\\" for line in indented[:-1]), f'{indented[-1]}"']


def main(arguments: list[str]) -> None:
    """Print the study file of each suite that is named."""
    for name in [argument for argument in arguments if argument != "--reader"]:
        print(study_text(Suite(name), reader="--reader" in arguments), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
