"""The syntax of a function or class as text that is equal on every supported version of Python.

Comments, layout, docstrings, annotations and decorators are left out: they change nothing that a function says of a
step, and what a decorator was given is part of the contract that it made.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

LEFT_OUT = frozenset({"annotation", "decorator_list", "ctx", "kind", "returns", "type_comment", "type_params"})
SOURCE_CHARACTERS_MAX = 10_000_000


def syntax_of_function(function: FunctionType) -> str:
    """Return the normalised syntax of a function; empty when its source cannot be read."""
    tree = _tree_in(function.__code__.co_filename)
    return "" if tree is None else _syntax_of_code(function.__code__, tree)


def syntax_of_class(kind: type) -> str:
    """Return the normalised syntax of a class; empty when its source cannot be read."""
    try:
        path = inspect.getsourcefile(kind)
    except TypeError:
        return ""
    tree = None if path is None else _tree_in(path)
    if tree is None:
        return ""
    name = kind.__qualname__.rpartition(".")[2]
    return _normalised([node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name])


def _tree_in(path: str) -> ast.Module | None:
    linecache.checkcache(path)
    return _parsed("".join(linecache.getlines(path)))


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module | None:
    if not text or len(text) > SOURCE_CHARACTERS_MAX:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=4096)
def _syntax_of_code(code: CodeType, tree: ast.Module) -> str:
    if code.co_name == "<lambda>":
        # Where lambdas on one line cannot be told apart, a change of any of them counts.
        return _normalised(_lambdas_at(tree, code))
    return _normalised([node for node in ast.walk(tree) if isinstance(node, Function) and _is_of(node, code)])


def _is_of(node: Function, code: CodeType) -> bool:
    """Whether code was compiled from a function: they begin at the same line, the one of the first decorator."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.name == code.co_name and first == code.co_firstlineno


def _lambdas_at(tree: ast.Module, code: CodeType) -> list[ast.Lambda]:
    """Return the lambda that code was compiled from, or all on its line where they cannot be told apart."""
    on_line = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
    places = set(code.co_positions())
    exact = [node for node in on_line if _place_of(node.body) in places]
    # Python 3.12 keeps no place of a constant.
    return exact or [node for node in on_line if _is_constant(node, code)] or on_line


def _is_constant(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda has the arguments of some code, and returns one of its constants."""
    given = node.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [argument.arg for argument in (given.vararg, given.kwarg) if argument is not None]
    try:
        value = ast.literal_eval(node.body)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    known = {f"{type(constant).__name__} {constant!r}" for constant in code.co_consts}
    return names == list(code.co_varnames) and f"{type(value).__name__} {value!r}" in known


def _place_of(node: ast.expr) -> tuple[int | None, int | None, int | None, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _normalised(nodes: Sequence[ast.AST]) -> str:
    try:
        return " ".join(sorted({_text_of(node) for node in nodes}))
    except (RecursionError, ValueError):  # too deep, or a number with too many digits
        return ""


def _text_of(node: object) -> str:
    """Return a node as its name and its fields; what is empty or only for people is left out."""
    if isinstance(node, list):
        return f"[{' '.join(map(_text_of, node))}]"
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__}:{node.value!r}"
    if isinstance(node, ast.JoinedStr):
        return f"(JoinedStr {_joined(node.values)})"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name in sorted(node._fields):
        value = getattr(node, name, None)
        if name in LEFT_OUT or value is None or value == []:
            continue
        if name == "body" and isinstance(node, Function | ast.ClassDef):
            value = _without_docstring(value)
        fields.append(f"{name}={_text_of(value)}")
    return f"({type(node).__name__} {' '.join(fields)})"


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str
    return body[1:] if is_text else body


def _joined(values: Sequence[ast.expr]) -> str:
    """Return the parts of an f-string with neighbouring texts as one; versions of Python cut them differently."""
    parts: list[str] = []
    text = ""
    for value in values:
        if isinstance(value, ast.Constant):
            text += str(value.value)
            continue
        if text:
            parts.append(repr(text))
        text = ""
        parts.append(_text_of(value))
    return " ".join([*parts, *([repr(text)] if text else [])])
