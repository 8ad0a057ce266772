"""The command `chaosagent`: its verbs, and what becomes of errors."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence

import click

from chaosagent.cli import output
from chaosagent.errors import ChaosAgentError, UnknownNameError
from chaosagent.version import version

MESSAGE_MAX, COLUMNS_MAX = 4_000, 120
TRACEBACK = "--traceback"
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
USAGE, FAILED, INTERRUPTED, PIPE_CLOSED = 2, 4, 130, 141
VERBS: Mapping[str, tuple[str, str]] = {
    "demo": ("demos.demo:demo", "Watch it work: search the built-in assistant, replay what breaks it, plot R(B)."),
    "init": ("starter.init:init", "Write a study and a small agent to begin with."),
    "import": ("starter.import_logs:import_logs", "Make a target of recorded conversations."),
    "doctor": ("doctor:doctor", "Look at a target before it is searched."),
    "search": ("search:search", "Find the cheapest schedules that break a target, with proof."),
    "status": ("status:status", "Say how far a study is, while it runs or later."),
    "report": ("report:report", "Write the HTML page of a study."),
    "curve": ("curve:curve", "Draw R(B) of stored studies: tasks still done against what faults may cost."),
    "compare": ("compare:compare", "Say what changed from one study to another."),
    "merge": ("merge:merge", "Put together a study that was searched in parts (--shard)."),
    "replay": ("suites.replay:replay", "Run stored counterexamples again."),
    "suite": ("suites.suite:suite", "Choose the fewest records that cover all that breaks, to keep them in CI."),
    "proxy": ("proxies.proxy:proxy", "Put faults between an agent in any language and its model and services."),
    "show": ("show:show", "Tell the story of a counterexample."),
    "check": ("check:check", "Check contracts on traces of production; nothing is executed."),
    "list": ("listing:list_kind", "List operators, searchers, contracts, targets or known patterns of failure."),
}
"""Of each verb its command below `chaosagent.cli`, which is imported when the verb is called, and a summary."""


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
        code = _code_of(given or ["--help"])
        sys.stdout.flush()
        return code if given else USAGE
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED, given)
    except BrokenPipeError:
        return _closed()
    except click.ClickException as error:
        return _failed(_complaint(error, given), USAGE, given)
    except ChaosAgentError as error:
        return _failed(str(error), error.exit_code, given)
    except SystemExit as error:
        # Nobody here ends like that: it is the user's code, at a place that should not run any.
        return _failed(f"the target has ended the program with sys.exit({error.code!r}). Let it return.", FAILED, given)
    except OSError as error:
        if error.filename is None and error.errno not in FULL:
            return _unexpected(error, given)
        place = "a file" if error.filename is None else error.filename
        return _failed(f"{place}: {error.strerror}. Make room, or name another file or folder.", USAGE, given)
    except Exception as error:  # the command line is a seam: what nobody named ends here, with an exit code
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


class _Verbs(click.Group):
    """Imports the module of a verb when it is called: the list of verbs needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click passes it
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002  # as above
        from pkgutil import resolve_name

        if cmd_name not in VERBS:
            raise UnknownNameError("command", cmd_name, VERBS)
        command: click.Command = resolve_name(f"chaosagent.cli.{VERBS[cmd_name][0]}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # as above
        with formatter.section("Commands"):
            formatter.write_dl([(verb, summary) for verb, (_, summary) in VERBS.items()])


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  # as click calls it
    if wanted:
        click.echo(version())
        context.exit()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": COLUMNS_MAX})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and end.",
)
@click.option(TRACEBACK, is_flag=True, expose_value=False, help="Show where an error of chaosagent comes from.")
def _program() -> None:
    """Find the cheapest schedule of faults that breaks an agent system, prove that nothing cheaper does, and replay it.

    Begin with `chaosagent demo`. Then `chaosagent init` writes a small agent and a study of it, to be changed into your
    own.

    Exit codes: 0 nothing violated, 1 violated, 2 usage or bad input, 3 inconclusive, 4 target or executor failed,
    130 interrupted.
    """


def _code_of(arguments: Sequence[str]) -> int:
    """Call the verb and return its exit code; unlike click's `main`, leave errors and interrupts to the caller."""
    try:
        with _program.make_context("chaosagent", list(arguments)) as context:  # click empties the list
            code: int = _program.invoke(context)
            return code
    except click.exceptions.Exit as ended:  # after --help and --version
        return ended.exit_code


def _complaint(error: click.ClickException, given: Sequence[str]) -> str:
    """Return what click complains of as a sentence, with a hint."""
    text = error.format_message()
    path = " ".join(("chaosagent", *[word for word in given if word in VERBS][:1]))
    return f"{text if text.endswith(('.', '?', '!')) else f'{text}.'} See `{path} --help`."


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
