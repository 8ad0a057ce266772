"""The command `chaosagent`: its verbs, and what becomes of errors."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from chaosagent.cli import output
from chaosagent.cli.check import check
from chaosagent.cli.compare import compare
from chaosagent.cli.curve import curve
from chaosagent.cli.demos.demo import demo
from chaosagent.cli.doctor import doctor
from chaosagent.cli.listing import list_kind
from chaosagent.cli.merge import merge
from chaosagent.cli.proxies.proxy import proxy
from chaosagent.cli.report import report
from chaosagent.cli.search import search
from chaosagent.cli.show import show
from chaosagent.cli.starter.init import init
from chaosagent.cli.status import status
from chaosagent.cli.suites.replay import replay
from chaosagent.cli.suites.suite import suite
from chaosagent.errors import ChaosAgentError
from chaosagent.version import version

MESSAGE_MAX = 4_000
TRACEBACK = "--traceback"
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
USAGE, FAILED, INTERRUPTED, PIPE_CLOSED = 2, 4, 130, 141
ABOUT = """Find the cheapest schedule of faults that breaks an agent system, prove that nothing cheaper does,
and replay it.

Begin with [bold]chaosagent demo[/bold]. Then [bold]chaosagent init[/bold] writes a small agent and a study of it, to be
changed into your own.

Exit codes: 0 nothing violated, 1 violated, 2 usage or bad input, 3 inconclusive, 4 target or executor failed,
130 interrupted.
"""
VERBS: Mapping[str, tuple[Callable[..., int], str]] = {
    "demo": (demo, "Watch it work: search the built-in assistant, replay what breaks it, plot R(B)."),
    "init": (init, "Write a study and a small agent to begin with."),
    "doctor": (doctor, "Look at a target before it is searched."),
    "search": (search, "Find the cheapest schedules that break a target, with proof."),
    "status": (status, "Say how far a study is, while it runs or later."),
    "report": (report, "Write the HTML page of a study."),
    "curve": (curve, "Draw R(B) of stored studies: tasks still done against what faults may cost."),
    "compare": (compare, "Say what changed from one study to another."),
    "merge": (merge, "Put together a study that was searched in parts (--shard)."),
    "replay": (replay, "Run stored counterexamples again."),
    "suite": (suite, "Choose the fewest records that cover all that breaks, to keep them in CI."),
    "proxy": (proxy, "Put faults between an agent in any language and its model and services."),
    "show": (show, "Tell the story of a counterexample."),
    "check": (check, "Check contracts on traces of production; nothing is executed."),
    "list": (list_kind, "List operators, searchers, contracts or targets."),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: Without the name of the program; those of the process by default.
    """
    try:
        code = _answered(_in_front(TRACEBACK, list(sys.argv[1:] if arguments is None else arguments)))
        _hear_no_more(arguments)
    except KeyboardInterrupt:  # one that came while another was told, or in between
        code = INTERRUPTED
        _hear_no_more(arguments)
    return code


def _hear_no_more(arguments: Sequence[str] | None) -> None:
    """Ignore interrupts where the process ends now: one of what Python still does would spoil the exit code."""
    if arguments is None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answered(given: list[str]) -> int:
    output.make_safe(sys.stdout, sys.stderr)
    try:
        code = _application()(given or ["--help"], prog_name="chaosagent", standalone_mode=False)
        sys.stdout.flush()
        return (code if isinstance(code, int) else 0) if given else USAGE
    except (KeyboardInterrupt, _InterruptedError):
        return _failed("interrupted", INTERRUPTED, given)
    except BrokenPipeError:
        return _closed()
    except ChaosAgentError as error:
        return _failed(str(error), error.exit_code, given)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer ends the program for it, and says nothing
            return _closed()
        # Nobody here ends like that: it is the user's code, at a place that should not run any.
        return _failed(f"the target has ended the program with sys.exit({error.code!r}). Let it return.", FAILED, given)
    except OSError as error:
        if error.filename is None and error.errno not in FULL:
            return _unexpected(error, given)
        place = "a file" if error.filename is None else error.filename
        return _failed(f"{place}: {error.strerror}. Make room, or name another file or folder.", USAGE, given)
    except Exception as error:  # the command line is a seam: what nobody named ends here, with an exit code
        if hasattr(error, "format_message"):  # typer's own errors, whose class has moved between its versions
            return _failed(_complaint(error.format_message(), _help_hint(error)), USAGE, given)
        return _unexpected(error, given)


def _in_front(option: str, given: list[str]) -> list[str]:
    """Put an option of the program in front of the verb, so that it may be given behind it, too."""
    return [option, *(word for word in given if word != option)] if option in given else given


def _unexpected(error: Exception, given: Sequence[str]) -> int:
    if TRACEBACK in given:
        raise error
    return _failed(
        f"{type(error).__name__}: {error}. This is an error of chaosagent; please report it with what "
        "`chaosagent --traceback ...` prints.",
        FAILED,
        given,
    )


def _application() -> typer.Typer:
    application = typer.Typer(
        name="chaosagent",
        help=_paragraphs(ABOUT),
        add_completion=False,
        rich_markup_mode="rich",
    )
    application.callback()(_global_options)
    for verb, (function, summary) in VERBS.items():
        application.command(verb, help=_paragraphs(inspect.getdoc(function) or ""), short_help=summary)(
            _heard(function)
        )
    return application


class _InterruptedError(Exception):
    """The keyboard's interrupt on its way through typer, which would end the program without a word."""


def _heard(verb: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(verb)
    def interruptible(*arguments: object, **options: object) -> int:
        try:
            return verb(*arguments, **options)
        except KeyboardInterrupt as error:
            raise _InterruptedError from error

    return interruptible


def _paragraphs(text: str) -> str:
    """Return a text with each paragraph in one line, so that the terminal's width decides where it breaks."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _global_options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", callback=lambda wanted: _version(wanted), is_eager=True
        ),
    ] = False,
    traceback: Annotated[bool, typer.Option(TRACEBACK, help="Show where an error of chaosagent comes from.")] = False,
) -> None:
    del version, traceback


def _version(wanted: object) -> None:
    if wanted:
        print(version())
        raise typer.Exit


def _complaint(text: str, hint: str) -> str:
    """Return a complaint as a sentence with its hint; some versions of typer raise one without any text."""
    said = text.strip().replace("Input should be", "it must be") or "Something is missing"
    return f"{said if said.endswith(('.', '?', '!')) else f'{said}.'} {hint}"


def _help_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "chaosagent")
    return f"See `{path} --help`."


def _closed() -> int:
    """Write nothing at exit either, as the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _failed(message: str, code: int, given: Sequence[str]) -> int:
    """Say what went wrong; for machines as an object, too, since they were promised one."""
    left_out = len(message) - MESSAGE_MAX
    if left_out > 0:
        message = f"{message[:MESSAGE_MAX]}... {left_out} more characters"
    output.remark(f"chaosagent: {message}")
    if "--json" in given:
        output.answer_json({"error": message, "exit_code": code})
    return code
