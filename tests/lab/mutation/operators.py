"""The small mistakes that are made in a source file, one at a time."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake in one file.

    Attributes:
        path: Of the file, relative to the repository.
        function: Qualified name of the outermost function that runs it, empty if the import does.
        lines: Numbers of the lines of the statement that holds it, from 1.
        before: The lines of the mistake as they are, with single spaces.
        after: The same lines with the mistake.
        start: First byte that is replaced.
        end: The first byte behind those.
        text: What stands there instead.
        number: Counts mutants of equal `before` and `after` in a file, from 1.
    """

    path: str
    function: str
    lines: range
    before: str
    after: str
    start: int
    end: int
    text: str
    number: int = 1

    @property
    def key(self) -> str:
        """What names it, as long as the lines themselves do not change."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.path}: {self.before} -> {self.after}{again}"

    def applied(self, source: bytes) -> bytes:
        """Return the file with the mistake."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(path: str, source: bytes, functions: Collection[str] = ()) -> list[Mutant]:
    """Return all mutants of a file in the order of its text.

    Args:
        path: Of the file, relative to the repository.
        source: Its text.
        functions: Qualified names of those that are mutated; all of the file if empty.
    """
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    seen: dict[tuple[str, str], int] = {}
    found = []
    for mutant in sorted(finder.found, key=lambda one: (one.start, one.end, one.text)):
        if functions and mutant.function not in functions:
            continue
        number = seen[mutant.before, mutant.after] = seen.get((mutant.before, mutant.after), 0) + 1
        found.append(replace(mutant, number=number))
    return found


class _Finder(ast.NodeVisitor):
    """Collects mutants; passes by annotations, decorators, the texts of errors, and what is for type checkers."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path, self._source = path, source
        self._offsets = [0]
        for line in source.splitlines(keepends=True):
            self._offsets.append(self._offsets[-1] + len(line))
        self._names: list[str] = []
        self._function = ""
        self._statement: ast.stmt | None = None
        self.found: list[Mutant] = []

    # ------------------------------------------------------------------ where it looks

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.stmt):
            outer, self._statement = self._statement, node
            self._mutate_statement(node)
            super().visit(node)
            self._statement = outer
            return
        if isinstance(node, ast.expr):
            for other in _expressions_for(node):
                self._replace(node, other)
        super().visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        outer, self._function = self._function, self._function or ".".join((*self._names, node.name))
        self._inside(node.name, node.body)
        self._function = outer

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def _inside(self, name: str, body: list[ast.stmt]) -> None:
        self._names.append(name)
        for statement in body:
            self.visit(statement)
        self._names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and not (isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"):
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave the text of an error alone."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave alone what is never false."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone: the places inside them are unreliable before Python 3.12."""

    # ------------------------------------------------------------------ what it finds

    def _mutate_statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Break | ast.Continue):
            self._replace(node, "continue" if isinstance(node, ast.Break) else "break")
        elif isinstance(node, ast.Return):
            if node.value is not None and not _is_none(node.value):
                self._replace(node, "return None")
        elif isinstance(node, ast.AugAssign):
            self._replace(node, "pass")
            if type(node.op) in ARITHMETIC:
                self._replace(node, ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value))
        elif _is_effect(node) or (isinstance(node, ast.Assign | ast.AnnAssign) and self._sets_a_part(node)):
            self._replace(node, "pass")
        tested = node.test if isinstance(node, ast.If | ast.While) else None
        if tested is not None:
            for other in _negated(tested):
                self._replace(tested, other)

    def _sets_a_part(self, node: ast.Assign | ast.AnnAssign) -> bool:
        """Whether something of an object is set again; what `__init__` sets is missed at once."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_first = self._names[-1:] == ["__init__"]
        return node.value is not None and not is_first and isinstance(targets[0], ast.Attribute | ast.Subscript)

    def _replace(self, node: ast.expr | ast.stmt, other: ast.AST | str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        assert self._statement is not None
        text = other if isinstance(other, str) else ast.unparse(ast.fix_missing_locations(other))
        start = self._offsets[node.lineno - 1] + node.col_offset
        end = self._offsets[node.end_lineno - 1] + node.end_col_offset
        first, behind = self._offsets[node.lineno - 1], self._offsets[node.end_lineno]
        before = self._source[first:behind].decode()
        after = (self._source[first:start] + text.encode() + self._source[end:behind]).decode()
        before, after = " ".join(before.split()), " ".join(after.split())
        lines = _lines_of(self._statement)
        self.found.append(Mutant(self._path, self._function, lines, before, after, start, end, text))


def _expressions_for(node: ast.expr) -> Iterator[ast.expr | str]:
    """Return what an expression is replaced with."""
    if isinstance(node, ast.Compare):
        for at, operation in enumerate(node.ops):
            for other in COMPARISONS[type(operation)]:
                changed = copy.deepcopy(node)
                changed.ops[at] = other()
                yield changed
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for at in range(len(node.values)):
            left = node.values[:at] + node.values[at + 1 :]
            yield ast.BoolOp(node.op, left) if len(left) > 1 else f"({ast.unparse(left[0])})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node.left, node.right):
        yield f"({ast.unparse(ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))})"
    elif isinstance(node, ast.Constant):
        yield from _constants_for(node.value)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        if node.func.id != "sorted" or not node.keywords:
            yield ast.Call(ast.Name(CALLS[node.func.id]), node.args, node.keywords)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for number, generator in enumerate(node.generators):
            for at, test in enumerate(generator.ifs):
                for other_test in _negated(test):
                    changed_comprehension = copy.deepcopy(node)
                    changed_comprehension.generators[number].ifs[at] = ast.parse(other_test, mode="eval").body
                    yield changed_comprehension


def _constants_for(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield repr(not value)
    elif isinstance(value, int | float):
        yield repr(value + 1)
        yield f"({value - 1!r})"
    elif value == "":
        yield "'x'"
    elif value == b"":
        yield "b'x'"


def _negated(test: ast.expr) -> Iterator[str]:
    """Return the opposite of a condition that no other mutant turns around."""
    if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield f"not ({ast.unparse(test)})"


def _is_effect(node: ast.stmt) -> bool:
    """Whether a statement is run for what it does: a call, `raise` or `del`."""
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(value, ast.Call)
    return isinstance(node, ast.Raise | ast.Delete)


def _is_text(*nodes: ast.expr) -> bool:
    return any(
        isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in nodes
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _lines_of(statement: ast.stmt) -> range:
    """Return the lines of a statement, of a compound one those of its head."""
    body = getattr(statement, "body", None)
    if body:
        return range(statement.lineno, max(statement.lineno + 1, body[0].lineno))
    assert statement.end_lineno is not None
    return range(statement.lineno, statement.end_lineno + 1)
