"""The rules of the house that no linter knows. Every complaint names a place and the remedy."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("chaosagent", "operators", "searchers", "replays", "experiments")
FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 400
TEST_MODULE_LINES_MAX = 600
POSITIONAL_MAX = 5
PARAMETERS_MAX = 8
VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})
MAY_PRINT = ("chaosagent/cli/", "experiments/", "tests/lab/")
MAY_LOOK_AT_THE_CLOCK = (
    "chaosagent/clock.py",
    "tests/execution/hidden_state/test_chance_watch.py",
    "tests/lab/clocks/targets.py",
    "tests/targets/test_deterministic.py",
)
CLOCKS = frozenset({"time.time", "time.sleep", "datetime.now", "datetime.utcnow", "datetime.today"})
# Written in pieces, so that this file does not complain about itself.
OF_ONE_MACHINE = re.compile(
    "|".join(
        (
            r"(?<![\w./-])/" + "work/",
            r"(?<![\w./-])/" + "root/",
            "/opt/" + "wheels",
            r"\.\./" + "shared/",
            "pypi.org/" + "simple",
            "pythonhosted" + r"\.org",
            "index" + "-url[ =]",
        )
    )
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file; `path` is relative to the repository, with slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The file, parsed."""
        return ast.parse(self.text, self.path)

    @property
    def is_test(self) -> bool:
        """Whether the rules for tests hold."""
        return self.path.startswith("tests/")

    def functions(self) -> Iterator[Function]:
        """All functions and methods, also those inside others."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node


Rule = Callable[[Source], Iterator[str]]


def functions_are_short(source: Source) -> Iterator[str]:
    for function in source.functions():
        assert function.end_lineno is not None
        line_count = function.end_lineno - function.lineno + 1 - _docstring_line_count(function)
        if line_count > FUNCTION_LINES_MAX:
            yield (
                f"{source.path}:{function.lineno}: {function.name} has {line_count} lines without its "
                f"docstring; {FUNCTION_LINES_MAX} are allowed. Move what computes into functions below it."
            )


def modules_are_short(source: Source) -> Iterator[str]:
    line_count = len(source.text.splitlines())
    line_count_max = TEST_MODULE_LINES_MAX if source.is_test else MODULE_LINES_MAX
    if line_count > line_count_max:
        yield (
            f"{source.path}:{line_count_max + 1}: the file has {line_count} lines; "
            f"{line_count_max} are allowed. Give one of the things in it a file of its own."
        )


def public_functions_take_few_parameters(source: Source) -> Iterator[str]:
    """Hold for product code; a command of the CLI is exempt, its parameters are the flags."""
    if source.is_test or source.path.startswith("chaosagent/cli/"):
        return
    for function in source.functions():
        if function.name.startswith("_") and function.name not in {"__init__", "__call__"}:
            continue
        given = function.args
        positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        positional_count = len(positional) - (positional[:1] in (["self"], ["cls"]))
        parameter_count = positional_count + len(given.kwonlyargs)
        if positional_count > POSITIONAL_MAX or parameter_count > PARAMETERS_MAX:
            yield (
                f"{source.path}:{function.lineno}: {function.name} takes {parameter_count} parameters, "
                f"{positional_count} of them by position; {PARAMETERS_MAX} and {POSITIONAL_MAX} are allowed. "
                "Make them keyword-only, or put those that belong together into a dataclass."
            )


def names_say_what_is_inside(source: Source) -> Iterator[str]:
    for part in Path(source.path).with_suffix("").parts:
        if part.removeprefix("test_") in VAGUE_NAMES:
            yield f"{source.path}:1: the name {part!r} says nothing. Name it after the one thing in it."


def an_operator_is_named_after_its_file(source: Source) -> Iterator[str]:
    parts = Path(source.path).with_suffix("").parts
    if len(parts) != 3 or parts[0] != "operators" or parts[2] == "__init__":
        return
    classes = [node for node in source.tree.body if isinstance(node, ast.ClassDef)]
    named = [node for node in classes if node.name.lower() == parts[2].replace("_", "")]
    registry_name = f"{parts[1]}.{parts[2]}"
    if not named:
        wanted = "".join(word.capitalize() for word in parts[2].split("_"))
        yield f"{source.path}:1: holds no class {wanted}. Name the class and its file alike."
    elif registry_name not in _strings_given_to_name(named[0]):
        yield (
            f"{source.path}:{named[0].lineno}: {named[0].name} has not the registry name of its file. "
            f'Write `name = "{registry_name}"` in the class.'
        )


def only_the_command_line_prints(source: Source) -> Iterator[str]:
    if source.path.startswith(MAY_PRINT):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield (f"{source.path}:{node.lineno}: print outside cli/ and experiments/. Return the text, or log a fact.")


def only_the_clock_knows_the_time(source: Source) -> Iterator[str]:
    if source.path in MAY_LOOK_AT_THE_CLOCK:
        return
    for node in ast.walk(source.tree):
        for used in _dotted_uses(node) & CLOCKS:
            yield (
                f"{source.path}:{getattr(node, 'lineno', 1)}: {used} outside chaosagent/clock.py. "
                "Take the time from the run's Clock."
            )


def a_todo_names_its_issue(source: Source) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT and re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", token.string):
            yield f"{source.path}:{token.start[0]}: a TODO without issue. Write `TODO(#41): ...`, or do it."


RULES: tuple[Rule, ...] = (
    functions_are_short,
    modules_are_short,
    public_functions_take_few_parameters,
    names_say_what_is_inside,
    an_operator_is_named_after_its_file,
    only_the_command_line_prints,
    only_the_clock_knows_the_time,
    a_todo_names_its_issue,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule: Rule) -> None:
    sources = [Source(path, (ROOT / path).read_text("utf-8")) for path in _python_files()]

    complaints = [complaint for source in sources for complaint in rule(source)]

    assert sources
    assert not complaints, "\n".join(complaints)


BAD = {
    functions_are_short: Source("chaosagent/a.py", "def f():\n" + "    f()\n" * 60),
    modules_are_short: Source("replays/a.py", "1\n" * 401),
    public_functions_take_few_parameters: Source("replays/a.py", "def f(a, b, c, d, e, f): ..."),
    names_say_what_is_inside: Source("chaosagent/study/utils.py", ""),
    an_operator_is_named_after_its_file: Source("operators/service/delay.py", "class Delay: name = 'delay'"),
    only_the_command_line_prints: Source("replays/a.py", "print(1)"),
    only_the_clock_knows_the_time: Source("searchers/a.py", "import time\ntime.sleep(1)"),
    a_todo_names_its_issue: Source("chaosagent/a.py", "1  # TODO: more"),
}
MORE_BAD = (
    (
        public_functions_take_few_parameters,
        Source("replays/a.py", "def f(*, a, b, c, d, e, f, g, h, i): ..."),
    ),
    (an_operator_is_named_after_its_file, Source("operators/service/delay.py", "class Late: ...")),
    (only_the_clock_knows_the_time, Source("searchers/a.py", "from time import sleep as rest")),
    (only_the_clock_knows_the_time, Source("searchers/a.py", "import datetime\ndatetime.datetime.now()")),
    (names_say_what_is_inside, Source("chaosagent/helpers/delay.py", "")),
)


@pytest.mark.parametrize(("rule", "source"), [*BAD.items(), *MORE_BAD])
def test_a_rule_complains_with_a_place(rule: Rule, source: Source) -> None:
    complaints = list(rule(source))

    assert complaints
    assert all(re.match(rf"{re.escape(source.path)}:\d+: ", complaint) for complaint in complaints)


def test_every_rule_is_tried_on_a_bad_example() -> None:
    assert set(BAD) == set(RULES)


GOOD = (
    Source("chaosagent/a.py", 'def f():\n    """' + "long\n" * 90 + '"""\n' + "    f()\n" * 50),
    Source("chaosagent/a.py", "class A:\n    def f(self, a, b, c, d, e, *, g, h, i): ..."),
    Source("chaosagent/a.py", "def _f(a, b, c, d, e, f): ..."),
    Source("operators/service/status_error.py", 'class StatusError:\n    name: str = "service.status_error"'),
    Source("operators/model/http_error.py", 'class HTTPError:\n    name = Name("model.http_error")'),
    Source("chaosagent/cli/run.py", "print(1)"),
    Source("chaosagent/clock.py", "import time\ntime.sleep(1)"),
    Source("chaosagent/a.py", "import asyncio\nasyncio.sleep(1)\nclock.time()\nrun.now()"),
    Source("chaosagent/a.py", "1  # TODO(#41): more\n'TODO'"),
)


@pytest.mark.parametrize("source", GOOD)
def test_good_code_brings_no_complaint(source: Source) -> None:
    assert [complaint for rule in RULES for complaint in rule(source)] == []


@pytest.mark.parametrize("folder", ["operators", "searchers", "replays", "experiments"])
def test_a_top_folder_has_a_readme(folder: str) -> None:
    readme = ROOT / folder / "README.md"

    assert readme.is_file(), f"{folder}/README.md:1: missing. Say what the folder holds and how to add one."
    assert readme.read_text("utf-8").startswith("# "), f"{folder}/README.md:1: begin with a title."


def test_no_file_speaks_of_one_machine() -> None:
    complaints = [
        f"{path}:{number}: speaks of one machine ({found[0]!r}). Take the place out, or pass it in."
        for path in _tracked_files()
        for number, line in enumerate((ROOT / path).read_text("utf-8", errors="replace").splitlines(), 1)
        if (found := OF_ONE_MACHINE.search(line))
    ]

    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("text", ["cd /" + "work/main", "pip --index" + "-url=x", "see ../" + "shared/A.md"])
def test_a_place_on_one_machine_is_recognised(text: str) -> None:
    assert OF_ONE_MACHINE.search(text)


@pytest.mark.parametrize("text", ["docs/work/a.md", "https://example.org/work/a", "the root/leaf", "shared/a"])
def test_other_places_are_not_complained_about(text: str) -> None:
    assert not OF_ONE_MACHINE.search(text)


def _python_files() -> list[str]:
    return [path for path in _tracked_files() if path.endswith(".py")]


def _tracked_files() -> list[str]:
    """Every text file that git has or would take, relative to the repository, sorted; links are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(path for path in listed.split("\0") if path and _is_plain(ROOT / path))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _docstring_line_count(function: Function) -> int:
    if ast.get_docstring(function, clean=False) is None:
        return 0
    docstring = function.body[0]
    assert docstring.end_lineno is not None
    return docstring.end_lineno - docstring.lineno + 1


def _strings_given_to_name(node: ast.ClassDef) -> set[str]:
    """The strings in `name = ...` or `name: ... = ...` of a class body."""
    values: list[ast.expr] = []
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            targets = statement.targets
            given: ast.expr | None = statement.value
        elif isinstance(statement, ast.AnnAssign):
            targets, given = [statement.target], statement.value
        else:
            continue
        if given is not None and any(isinstance(target, ast.Name) and target.id == "name" for target in targets):
            values.append(given)
    inside = [part for value in values for part in ast.walk(value)]
    return {part.value for part in inside if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def _dotted_uses(node: ast.AST) -> set[str]:
    """`time.sleep` for that expression and for `from time import sleep`."""
    if isinstance(node, ast.ImportFrom):
        return {f"{node.module}.{alias.name}" for alias in node.names}
    if isinstance(node, ast.Attribute):
        owner = node.value
        if isinstance(owner, ast.Name):
            return {f"{owner.id}.{node.attr}"}
        if isinstance(owner, ast.Attribute):
            return {f"{owner.attr}.{node.attr}"}
    return set()
