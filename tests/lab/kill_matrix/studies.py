"""Small studies whose searches have what could be left behind: frozen answers, secrets, processes, ports, folders."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

FUNCTIONS = '''
"""An agent that pays twice when an answer is lost; its model is asked once for each question."""

from chaosagent import Outcome, Task, effect, target


@target(tasks=[Task("a"), Task("b")]SECRETS)
async def agent(task, run):
    paid = []

    def pay(amount):
        paid.append(amount)
        return {"number": len(paid), "token": "sk-canary"}

    shop = run.service("shop", {"find": lambda: {"amount": 40}, "pay": pay}, effects={"pay": effect("amount")})
    try:
        amount = (await shop("find"))["amount"]
    except Exception:
        amount = 40
    for _ in range(3):
        try:
            await shop("pay", amount=amount)
            break
        except Exception:
            continue
    return Outcome("sk-canary paid", success=len(paid) == 1)
'''

STUDY = """
target: agent.py:agent
seeds: [0, 1]
contracts: [at-most-once, no-crash]
budget: 2.1
search: {all_minimal: true}
operators: [service.timeout, service.lost_response, service.error_status]
"""

COMMAND = """
import http.client, json, os, sys
from urllib.parse import urlsplit

url = urlsplit(os.environ["SHOP_URL"])

def call(method, path, body=None):
    line = http.client.HTTPConnection(url.hostname, url.port, timeout=5)
    line.request(method, url.path + path, body and json.dumps(body), {"content-type": "application/json"})
    answer = line.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise OSError(answer.status)
    return json.loads(text)

for _ in range(2):
    try:
        call("POST", "/payments", {"amount": 40})
        break
    except (OSError, http.client.HTTPException):
        continue
open(os.environ["TMPDIR"] + "/scratch", "w").write("x")
print("paid")
"""

WORLD = """
from chaosagent import Effect

def shop():
    made = []
    def pay(amount):
        made.append(amount)
        return {"number": len(made)}
    return {"POST /payments": pay, "state": lambda: made}

def paid(arguments, answer):
    return Effect("payment", {"amount": arguments["amount"]})
"""

AGENT = """
command: PYTHON -S -E agent.py
services:
  shop: {upstream: "scripted:world.py:shop", effects: {POST /payments: "world.py:paid"}}
tasks: [{id: a, input: {}}]
"""

COMMAND_STUDY = """
target: agent.yaml
contracts: [at-most-once, no-crash]
budget: 1.2
search: {all_minimal: true}
operators: [service.lost_response]
"""

STUDIES: Mapping[str, Mapping[str, str]] = {
    "functions": {"agent.py": FUNCTIONS.replace("SECRETS", ""), "study.yaml": STUDY},
    "secrets": {"agent.py": FUNCTIONS.replace("SECRETS", ', secrets=["sk-[a-z]+"]'), "study.yaml": STUDY},
    "command": {"agent.py": COMMAND, "world.py": WORLD, "agent.yaml": AGENT, "study.yaml": COMMAND_STUDY},
}


def write_study(folder: Path, name: str) -> Path:
    """Write the files of a study into a new folder, and return the study file."""
    folder.mkdir(parents=True)
    for file, text in STUDIES[name].items():
        (folder / file).write_text(text.replace("PYTHON", sys.executable), "utf-8")
    return folder / "study.yaml"
