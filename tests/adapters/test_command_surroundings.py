"""What the process of a command finds around it: a fresh folder, lines for prompts; and what its author gets to see."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.proxy, pytest.mark.slow]
for needed in ("httpx", "starlette", "uvicorn"):
    pytest.importorskip(needed, reason="needs the extra proxy")

from chaosagent.adapters.command import Service, command  # noqa: E402  # only with the extra
from chaosagent.adapters.mcp.server import McpServer  # noqa: E402
from chaosagent.adapters.target_file import load_target_file  # noqa: E402
from chaosagent.errors import TargetError, UsageError  # noqa: E402
from chaosagent.execution.exact_replay import serve  # noqa: E402
from chaosagent.execution.execute import Execution, Experiment, execute  # noqa: E402
from chaosagent.faults.schedule import EMPTY, parse  # noqa: E402
from chaosagent.limits import RunLimits  # noqa: E402
from chaosagent.targets.target import Target  # noqa: E402
from chaosagent.vocabulary import Ending, SystemConfig, Task  # noqa: E402

TASK = Task("one")
TELLS_ITS_FOLDER = """
import json, os, pathlib, sys, tempfile, urllib.error, urllib.parse, urllib.request

folder = pathlib.Path(tempfile.mkdtemp(prefix="own"))
here = str(folder.parent)
(folder / "note.txt").write_text("kept")

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(path, data)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return error.read().decode()

shop, model = os.environ["SHOP_URL"], os.environ["OPENAI_BASE_URL"] + "/chat/completions"
messages = [{"role": "user", "content": f"see {here}"}]
said = ask(model, {"messages": messages})["choices"][0]["message"]["content"]
asked = [
    ask(shop + "/files", {"path": here, here: 1}),
    ask(shop + "/files?" + urllib.parse.urlencode({"path": here})),
    ask(shop + "/files/" + urllib.parse.quote(here, safe="")),
    ask(shop + "/broken", {"path": here}),
]
assert all(here in json.dumps(one) for one in asked), asked
assert said == f"look into {here}", said
print(here, os.listdir(here)[0][:3], file=sys.stderr)
print(json.dumps({"message": f"all is in {here}", "state": asked}))
if os.environ.get("FAILS"):
    raise RuntimeError(f"not in {here}")
"""


def shop() -> dict[str, Any]:
    """Return services that need the real folder, and tell it."""

    def files(path: str, **more: Any) -> dict[str, Any]:
        return {"listed": [path, *more], "there": [one[:3] for one in sorted(map(str, Path(path).glob("own*")))] != []}

    def broken(path: str) -> None:
        raise OSError(f"cannot read {path}")

    return {"POST /files": files, "GET /files": files, "GET /files/{path}": files, "POST /broken": broken}


def model(request: Any) -> str:
    """Name a folder that was named."""
    return "look into " + str(request["messages"][-1]["content"]).removeprefix("see ")


def ran(system: Target, schedule: str = "", seconds: float = 300.0) -> Execution:
    limits = RunLimits(wall_seconds_max=seconds)
    delta = parse(schedule) if schedule else EMPTY
    return execute(Experiment(system, next(iter(system.tasks.values())), SystemConfig(), seed=1, limits=limits), delta)


def _tells(**options: Any) -> Target:
    argv = [sys.executable, "-c", TELLS_ITS_FOLDER]
    return command(argv, models={"openai": model}, services={"shop": Service(shop)}, tasks=[TASK], **options)


def test_each_run_has_a_fresh_folder_whose_path_is_in_no_trace_and_that_all_around_it_can_use() -> None:
    first, second = ran(_tells()).trace, ran(_tells()).trace

    assert first.ending is Ending.FINISHED, first.ending_detail
    assert first.digest == second.digest
    assert first.outcome.message == "all is in /tmp/chaosagent-run/tmp"
    assert all(answer["there"] for answer in first.outcome.state[:3])  # type: ignore[index, union-attr, call-overload]
    assert serve(Experiment(_tells(), TASK, SystemConfig(), seed=1), first, EMPTY).difference is None


def test_nothing_is_left_of_the_folder_and_a_crash_does_not_tell_it(tmp_path: Path) -> None:
    execution = ran(_tells(environment={"FAILS": "yes"}))

    (stderr, _) = execution.remarks
    folder = stderr.splitlines()[1].split()[0]
    assert stderr.splitlines()[1].endswith(" own")  # it was empty before
    assert not Path(folder).parent.exists()
    assert execution.trace.ending_detail.endswith("RuntimeError: not in /tmp/chaosagent-run/tmp")
    kept = _tells(environment={"TMPDIR": str(tmp_path)})
    assert ran(kept).trace.outcome.message == f"all is in {tmp_path}"


# ---------------------------------------------------------------------- lines by prompt

CHAT = """
name = input("Name: ")
while True:
    try:
        line = input("> ")
    except EOFError:
        print("bye")
        break
    print("you said", line)
"""


def _described(folder: Path, program: str, stdin: str, more: str = "") -> Path:
    (folder / "chat.py").write_text(program)
    file = folder / "agent.yaml"
    file.write_text(f"command: {sys.executable} chat.py\n{more}tasks:\n  - id: one\n    stdin: {stdin}\n")
    return file


def test_a_program_gets_the_next_line_of_a_prompt_and_the_end_after_the_last_one(tmp_path: Path) -> None:
    system = load_target_file(_described(tmp_path, CHAT, '{"Name:": Ann, ">": [hello, how are you]}'))

    traces = [ran(system).trace for _ in range(2)]

    message = "Name: Ann\n> hello\nyou said hello\n> how are you\nyou said how are you\n> \nbye"
    assert [trace.outcome.message for trace in traces] == [message, message]
    assert system.tasks["one"].input == {"stdin": {"Name:": ["Ann"], ">": ["hello", "how are you"]}}


def test_the_last_line_is_the_outcome_also_behind_a_prompt(tmp_path: Path) -> None:
    program = "import json\nprint(json.dumps({'message': input('Order? '), 'success': True}))"

    outcome = ran(load_target_file(_described(tmp_path, program, '{"Order?": "17"}'))).trace.outcome

    assert (outcome.message, outcome.success) == ("17", True)


def test_a_prompt_that_never_comes_is_named_with_what_stands_there(tmp_path: Path) -> None:
    system = load_target_file(_described(tmp_path, CHAT, '{"Nmae:": Ann}', "seconds_max: 0.7\n"))

    for execution in (ran(system), ran(load_target_file(_described(tmp_path, CHAT, '{"Nmae:": Ann}')), seconds=0.7)):
        assert execution.trace.ending in (Ending.CRASHED, Ending.HUNG)
        assert "Ann" not in execution.trace.ending_detail
        (remark,) = execution.remarks
        assert "prompts with lines that were not typed: 'Nmae:'" in remark
        assert "Name:" in remark or "''" in remark  # a loaded machine does not come so far


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("hello", r"agent.yaml:4: stdin of task 'one' is 'hello'; it must be a mapping from each prompt .* such as"),
        ("{Sure: yes}", "agent.yaml:4: stdin of task 'one': the line true after 'Sure' is no text in one line. Put"),
        ("{Sure: ['a', 7]}", "the line 7 after 'Sure' is no text in one line"),
        ('{" ": a}', "it must be a mapping from each prompt"),
        ("{a: b}\n    input: [1]", "beside `stdin`, the input is left out or is a mapping"),
    ],
)
def test_lines_that_are_none_are_refused(tmp_path: Path, stdin: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_target_file(_described(tmp_path, CHAT, stdin))


# ---------------------------------------------------------------------- what MCP servers print

USES_MCP = """
import json, os, shlex, subprocess

server = subprocess.Popen(shlex.split(os.environ["BANK_MCP_COMMAND"]), stdin=-1, stdout=-1, text=True)
call = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": os.environ["TMPDIR"]}}
print(json.dumps(call), file=server.stdin, flush=True)
answer = json.loads(server.stdout.readline())
assert os.environ["TMPDIR"] in json.dumps(answer), answer
raise RuntimeError("no")
"""
MCP_SERVER = """
import json, os, sys

print("first line", "second line", sep="\\n", file=sys.stderr, flush=True)
asked = json.loads(sys.stdin.readline())
assert asked["params"]["name"] == os.environ["TMPDIR"], asked
print(os.environ["CHAOSAGENT_SEED"], file=sys.stderr, flush=True)
text = {"role": "user", "content": {"type": "text", "text": os.environ["TMPDIR"]}}
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"messages": [text]}}), flush=True)
"""


def _with_mcp(folder: Path, server: str) -> Target:
    (folder / "bank.py").write_text(server)
    mcp = {"bank": McpServer(f"{sys.executable} {folder / 'bank.py'}")}
    return command([sys.executable, "-c", USES_MCP], mcp=mcp, tasks=[TASK])


def test_all_that_a_server_prints_is_shown_and_it_has_the_folder_and_seed_of_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")

    execution = ran(_with_mcp(tmp_path, MCP_SERVER))

    assert execution.trace.ending_detail == "CommandFailed: exit code 1: RuntimeError: no"
    assert execution.remarks[1] == "stderr of the MCP server 'bank'\nfirst line\nsecond line\n1"
    assert "chaosagent-run" in json.dumps([step.response for step in execution.trace.steps], default=str)
    assert capfd.readouterr().err == ""


def test_a_server_that_does_not_begin_shows_its_traceback(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")

    with pytest.raises(TargetError, match=r"(?s)'bank' cannot be reached.*Traceback.*import nowhere.*ModuleNotFound"):
        ran(_with_mcp(tmp_path, "import nowhere"))
