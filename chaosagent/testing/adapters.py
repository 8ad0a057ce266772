"""The conformance suite that every adapter for an agent framework passes, built in or a stranger's.

    from chaosagent.testing.adapters import AdapterConformance

    class TestMyFramework(AdapterConformance):
        def build(self, desk):                                  # an agent of the framework, with a fake model
            return Agent(name="clerk", model=FakeModel(desk), tools=desk.tools)

        async def alone(self, agent):
            return (await agent.run(WISH)).text

        async def through_doors(self, agent, run, **options):
            return (await through_doors(run, agent, **options).agent.run(WISH)).text

The fake model asks `desk.answer(turn, told)` what to say, and gives its calls ids of `desk.draw_id()`. pytest collects
the class; nothing here needs pytest, so any runner that calls methods named `test_...` will do.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from chaosagent.effects.rule import effect
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.failures import exception_of
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.dry import unpack_request, unpack_response
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.desk import CALLS, FAULTS, WISH, Desk
from chaosagent.trace.step import Step
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task

OPTIONS: Mapping[str, Any] = {"effects": {"refund": effect("order")}, "read_only": ["get_order", "get_note"]}
GIVE_UP_SECONDS = 60.0
STEPS_MAX = 9
PROCESS_SECONDS_MAX = 600


class TooMuch(Exception):
    """What a tool raises on purpose."""


class AdapterConformance:
    """Subclass it in a test module and say how an agent is built and run.

    Attributes:
        agent: What the agent is called in hooks; empty where the framework gives agents no names.
        model: What its model is called.
        lists_tools: The descriptions of tools cross before the first request to the model.
        can_be_cancelled: A run of the agent ends when it is cancelled. It does not where the framework runs agents in
            threads of their own.
    """

    agent: ClassVar[str] = "clerk"
    model: ClassVar[str] = "scripted"
    lists_tools: ClassVar[bool] = True
    can_be_cancelled: ClassVar[bool] = True

    def build(self, desk: Desk) -> Any:
        """Return an agent of the framework with the tools of a desk, and a fake model that says what the desk says.

        Args:
            desk: See `Desk`. The model must draw its ids there.
        """
        raise NotImplementedError

    async def alone(self, agent: Any) -> str:
        """Run an agent without doors on `WISH`, and return its last words."""
        raise NotImplementedError

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        """Run an agent on `WISH` through the doors of a run, and return its last words.

        Args:
            agent: The agent; it must stay as it is.
            run: The run.
            options: Those of the adapter's `through_doors`; see `ToolOptions`.
        """
        raise NotImplementedError

    def model_failure(self, error: Exception) -> Exception:
        """Return what a model of the framework raises for a failure; the exception itself by default.

        Args:
            error: A failure as it crosses, such as a `TimeoutError`.
        """
        return error

    def state(self, agent: Any) -> object:
        """Return what must be the same after a run as before it; by default which objects the agent is made of."""
        return {name: list(map(id, value)) if isinstance(value, list) else id(value) for name, value in _facts(agent)}

    # ---------------------------------------------------------------- an undisturbed run

    def test_a_run_through_doors_says_what_a_run_without_them_says(self) -> None:
        alone, untraced = Desk(), Desk()
        said = asyncio.run(self.alone(self.build(alone)))
        in_earnest = asyncio.run(self.through_doors(self.build(untraced), UntracedRun(Task("default")), **OPTIONS))
        trace = self._execution().trace
        assert said == in_earnest == trace.outcome.message, (
            f"Without doors it says {said!r}, in earnest {in_earnest!r}, in a study {trace.outcome.message!r} "
            f"({trace.ending.value}: {trace.ending_detail})."
        )
        # Outside a study, a framework may call its tools in threads, in whatever order these come to run.
        assert sorted(alone.done) == sorted(untraced.done), (
            f"Without doors the tools did {alone.done}, with doors {untraced.done}."
        )

    def test_calls_of_models_and_tools_become_crossings_in_the_order_of_asking(self) -> None:
        trace = self._execution().trace
        calls = [(step.interface.removeprefix("service:"), _arguments(step)) for step in _of(trace, "service")]
        assert calls == CALLS, f"These calls of tools have crossed: {calls}. These were made: {CALLS}."
        asked = [step.interface for step in _of(trace, "model")]
        assert asked == [f"model:{self.model}"] * 3, f"The model was asked three times; these have crossed: {asked}."
        order = [step.interface.partition(":")[0] for step in trace.steps if step.interface.partition(":")[0] in FAULTS]
        wanted = ["tools"] * self.lists_tools + ["model"] + ["service"] * 3 + ["model", "service", "model"]
        assert order == wanted, f"The crossings come in the order {order}; {wanted} is that of asking."
        agents = {step.agent for step in (*_of(trace, "model"), *_of(trace, "service"))}
        assert agents == {self.agent}, f"The agent {self.agent!r} acts; the crossings name {agents}."

    def test_what_a_model_is_asked_and_answers_is_plain_data_that_operators_know(self) -> None:
        first, *_ = _of(self._execution().trace, "model")
        request, answer = _arguments(first), unpack_response(first.response).value
        assert request.get("messages"), f"The request {request} has no `messages`."
        assert WISH in str(request["messages"]), f"What the user says is not in {request['messages']}."
        assert isinstance(answer, Mapping), f"The answer {answer!r} is no mapping with `content` and `tool_calls`."
        listed: Any = answer.get("tool_calls") or ()
        calls = [(call["name"], call["arguments"]) for call in listed]
        assert calls == CALLS[:3], f"The answer has the calls {calls}, and the model made {CALLS[:3]}."

    def test_what_a_tool_commits_is_in_the_ledger(self) -> None:
        made = [(one.kind, one.identity) for one in self._execution().trace.effects]
        assert made == [("refund.call", {"order": "7"})], f"`effects` declares one refund; the ledger holds {made}."

    def test_answers_link_to_the_answers_that_they_were_made_from(self) -> None:
        trace = self._execution().trace
        declared = [*trace.links, *(link for step in trace.steps for link in step.links)]
        links = {(link.source, link.target) for link in declared}
        at = f"@{self.agent}" if self.agent else ""
        first, second, third = (f"model:{self.model}[{number}]{at}" for number in (1, 2, 3))
        looked = [f"service:{hook}{at}" for hook in ("get_order[1]", "get_note[1]", "get_note[2]")]
        paid = f"service:refund[1]{at}"
        wanted = {(call, first) for call in looked} | {(second, call) for call in looked}
        missing = (wanted | {(paid, second), (third, paid)}) - links
        assert not missing, f"Links are missing: {sorted(missing)}."

    # ---------------------------------------------------------------- runs that repeat

    def test_equal_runs_have_equal_traces(self) -> None:
        digests = {self._execution().trace.digest for _ in range(5)}
        assert len(digests) == 1, f"Five equal runs have {len(digests)} different traces."

    def test_traces_are_equal_in_every_process(self) -> None:
        code = (
            "import importlib.util, sys, warnings; warnings.simplefilter('ignore')\n"
            f"spec = importlib.util.spec_from_file_location('conformance', {inspect.getfile(type(self))!r})\n"
            "module = importlib.util.module_from_spec(spec); sys.modules['conformance'] = module\n"
            "spec.loader.exec_module(module)\n"
            f"print('digest', module.{type(self).__qualname__}()._execution().trace.digest)\n"
        )
        found = set[str]()
        for seed in ("1", "2"):
            environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            done = subprocess.run(
                [sys.executable, "-c", code],
                env=environment,
                capture_output=True,
                text=True,
                timeout=PROCESS_SECONDS_MAX,
                check=False,
            )
            assert done.returncode == 0, f"A fresh process fails: {done.stderr[-2000:]}"
            found.update(line for line in done.stdout.splitlines() if line.startswith("digest"))
        found.add(f"digest {self._execution().trace.digest}")
        assert len(found) == 1, f"Three processes have different traces: {sorted(found)}."

    def test_ids_that_a_provider_draws_do_not_cross(self) -> None:
        desk = Desk()
        trace = self._execution(desk=desk).trace
        assert len(desk.drawn) >= len(CALLS), "The fake model draws its ids elsewhere: use `desk.draw_id()`."
        crossed = "".join(f"{step.request!r} {step.response!r}" for step in trace.steps)
        found = [drawn for drawn in desk.drawn if drawn in crossed]
        assert not found, f"Drawn ids have crossed: {found}. Name them by first appearance; see `drawn_ids`."

    def test_two_runs_at_once_do_not_meet(self) -> None:
        experiment = _experiment(self._target({}, OPTIONS))
        alone = execute(experiment, EMPTY).trace.digest

        async def many() -> list[str]:
            runs = (asyncio.to_thread(lambda: execute(experiment, EMPTY).trace.digest) for _ in range(4))
            return await asyncio.gather(*runs)

        together = set(asyncio.run(many()))
        assert together == {alone}, "Runs at the same time have other traces than one alone: they share something."

    def test_nothing_is_left_behind(self) -> None:
        agent = self.build(Desk())
        system = self._target_of(lambda: agent, OPTIONS)
        for delta in ("", f"service:refund[1]{self._at} timeout"):
            threads = {id(thread) for thread in threading.enumerate()}
            before = self.state(agent), dict(os.environ)
            execute(_experiment(system), parse(delta) if delta else EMPTY)
            assert (self.state(agent), dict(os.environ)) == before, "A run has changed the agent or the environment."
            left = [one.name for one in threading.enumerate() if id(one) not in threads and not one.daemon]
            assert not [name for name in left if name.startswith("chaosagent")], f"Threads are left: {left}."
        asyncio.run(self.alone(agent))

    # ---------------------------------------------------------------- faults

    def test_every_fault_repeats_and_is_replayed_exactly(self) -> None:
        landed = dict.fromkeys(FAULTS, 0)
        for delta in self._faults():
            first, second = self._execution(delta), self._execution(delta)
            assert first.trace.digest == second.trace.digest, f"{delta}: two runs have different traces."
            landed[delta.partition(":")[0]] += any(step.landed is not None for step in first.trace.steps)
        for boundary, count in landed.items():
            assert count or (boundary == "tools" and not self.lists_tools), f"No fault lands at {boundary}."

    def test_a_failure_of_a_tool_looks_to_the_agent_like_one_of_its_own(self) -> None:
        for fault in ("timeout", "lost_response", "error_status(status=503)"):
            for tool in ("get_order", "refund"):
                delta = f"service:{tool}[1]{self._at} {fault}"
                trace = self._execution(delta).trace
                self._check_alone(delta, trace, Desk(failing={tool: _raised(trace, "service")}))

    def test_a_failure_of_the_model_looks_to_the_agent_like_one_of_its_own(self) -> None:
        delta = f"model:{self.model}[1]{self._at} slow(kind=stalled)"
        trace = self._execution(delta).trace
        self._check_alone(delta, trace, Desk(model_failure=self.model_failure(_raised(trace, "model"))))

    def test_what_a_tool_raises_on_purpose_is_raised_again_in_a_replay(self) -> None:
        failing = {"refund": TooMuch("40 is too much")}
        trace = self._execution(desk_options={"failing": failing}, errors=[TooMuch]).trace
        self._check_alone("a tool that raises", trace, Desk(failing=failing))

    def test_an_altered_answer_of_a_tool_is_what_the_model_reads(self) -> None:
        delta = f"service:get_order[1]{self._at} field_corruption(kind=zero, field=amount)"
        traces = self._execution().trace, self._execution(delta).trace
        told = [str(_arguments(_of(trace, "model")[1])["messages"]) for trace in traces]
        assert told[0] != told[1], f"An answer of a tool was altered, and the model is shown the same: {told[1]}."
        assert "40" not in told[1], f"The model is shown the amount that was replaced by zero: {told[1]}."

    def test_altered_answers_of_the_model_are_what_the_agent_does(self) -> None:
        refused = self._execution(f"model:{self.model}[1]{self._at} refusal").trace
        after = refused.steps[refused.steps.index(_of(refused, "model")[0]) + 1 :]
        called = [step.interface for step in after[:1] if step.interface.startswith("service:")]
        assert not called, f"The model has refused, and {called} was called."
        unknown = self._execution(f"model:{self.model}[1]{self._at} malformed_tool_call(kind=unknown_tool)").trace
        called = [step.interface for step in _of(unknown, "service")]
        assert called[:1] != ["service:get_order"], "The name of the tool was replaced, and the tool itself was called."

    def test_a_tool_that_is_missing_from_the_list_is_not_offered_to_the_model(self) -> None:
        if self.lists_tools:
            hook = next(step.hook for step in _of(self._execution().trace, "tools"))
            undisturbed, disturbed = (self._execution(delta).trace for delta in ("", f"{hook} missing(index=1)"))
            asked = [_arguments(_of(trace, "model")[0]) for trace in (undisturbed, disturbed)]
            assert asked[0] != asked[1], f"A tool is missing; the model is asked the same: {asked[1]}."

    # ---------------------------------------------------------------- the end of a run

    def test_an_agent_that_never_ends_is_stopped_at_the_limit_of_steps(self) -> None:
        trace = self._execution(desk_options={"is_endless": True}, steps_max=STEPS_MAX).trace
        assert trace.ending is Ending.STEP_LIMIT, (
            f"The run ends with {trace.ending.value} ({trace.ending_detail}), not at the limit of steps: the framework "
            "or the adapter catches what ends a run."
        )

    def test_an_agent_that_is_cancelled_ends_and_its_run_repeats(self) -> None:
        if not self.can_be_cancelled:
            return
        delta = f"service:refund[1]{self._at} delay(seconds=3600)"
        trace = self._execution(delta, give_up=True).trace
        assert trace.outcome.message == "given up", f"The agent was cancelled, and said {trace.outcome.message!r}."
        assert trace.digest == self._execution(delta, give_up=True).trace.digest, "Cancelled runs have unequal traces."

    def test_an_answer_that_is_a_failed_call_commits_nothing_and_is_told_as_it_is(self) -> None:
        ruled = self._execution(failed_when={"refund": "."}).trace
        plain = self._execution().trace
        assert not ruled.effects, f"All refunds have failed, and {ruled.effects} were committed."
        failed = [step.interface for step in ruled.steps if step.soft_error]
        assert failed == ["service:refund"], f"The refund is the failed call, and not {failed}."
        assert ruled.outcome == plain.outcome, f"The agent said {ruled.outcome}, without a rule {plain.outcome}."

    # ---------------------------------------------------------------- the caller's mistakes

    def test_what_is_said_of_tools_that_the_agent_does_not_have_is_refused(self) -> None:
        for options, told in (
            ({"effects": {"refunds": effect("order")}}, "Did you mean 'refund'"),
            ({"effects": {"refund": effect("order")}, "read_only": ["refund"]}, "declared read-only and has effects"),
            ({"read_only": "refund"}, "is one text"),
            ({"effect": {}}, "unknown option 'effect'"),
            ({"failed_when": {"refunds": "^Error"}}, "Did you mean 'refund'"),
            ({"failed_when": "("}, "failed_when: the pattern '(' cannot be used"),
        ):
            refusal = ""
            try:
                asyncio.run(self.through_doors(self.build(Desk()), UntracedRun(Task("default")), **options))
            except ChaosAgentError as error:
                refusal = str(error)
            assert told in refusal, f"{options}: the refusal {refusal!r} does not say {told!r}."

    # ---------------------------------------------------------------- how it is run

    @property
    def _at(self) -> str:
        return f"@{self.agent}" if self.agent else ""

    def _target(self, desk_options: Mapping[str, Any], options: Mapping[str, Any], **more: Any) -> Target:
        return self._target_of(lambda: self.build(Desk(**desk_options)), options, **more)

    def _target_of(self, build: Any, options: Mapping[str, Any], *, give_up: bool = False) -> Target:
        @target(name="conformance")
        async def conformance(_: Task, run: Run) -> Outcome:
            running = self.through_doors(build(), run, **options)
            try:
                return Outcome(await (asyncio.wait_for(running, GIVE_UP_SECONDS) if give_up else running), success=True)
            except TimeoutError:
                if not give_up:
                    raise
                return Outcome("given up")

        return conformance

    def _execution(
        self,
        delta: str = "",
        *,
        desk: Desk | None = None,
        desk_options: Mapping[str, Any] | None = None,
        steps_max: int | None = None,
        give_up: bool = False,
        **options: Any,
    ) -> Execution:
        """Run an agent under a schedule, and see that an exact replay is the same and does nothing to the world."""
        done: list[str] = []
        given = {"done": done, **(desk_options or {})}
        asked = {**OPTIONS, **options}
        system = self._target(given, asked, give_up=give_up)
        if desk is not None:
            system = self._target_of(lambda: self.build(desk), asked, give_up=give_up)
        experiment = _experiment(system, RunLimits() if steps_max is None else RunLimits(steps_max=steps_max))
        schedule = parse(delta) if delta else EMPTY
        execution = execute(experiment, schedule)
        count = len(done)
        served = serve(experiment, execution.trace, schedule)
        assert served.difference is None, f"{delta or 'no fault'}: an exact replay diverges: {served.difference}."
        same = served.execution.trace.digest == execution.trace.digest
        assert same, f"{delta or 'no fault'}: an exact replay has another trace."
        assert len(done) == count, f"{delta or 'no fault'}: an exact replay calls tools itself: {done[count:]}."
        return execution

    def _faults(self) -> Iterator[str]:
        for step in self._execution().trace.steps:
            for fault in FAULTS.get(step.interface.partition(":")[0], ()):
                yield f"{step.hook} {fault}"

    def _check_alone(self, what: str, trace: Trace, desk: Desk) -> None:
        """Check that an agent says, or raises, the same without doors where the world itself fails like this."""
        ended = trace.outcome.message if trace.ending is Ending.FINISHED else trace.ending_detail.partition(":")[0]
        try:
            alone = asyncio.run(self.alone(self.build(desk)))
        except Exception as error:
            alone = type(error).__name__
        assert ended == alone, f"{what}: the agent ends with {ended!r}, and without doors with {alone!r}."


def _experiment(system: Target, limits: RunLimits | None = None) -> Experiment:
    return Experiment(system, system.task("default"), SystemConfig(), seed=1, limits=limits or RunLimits())


def _facts(agent: Any) -> list[tuple[str, Any]]:
    return sorted(vars(agent).items())


def _of(trace: Trace, boundary: str) -> list[Step]:
    return [step for step in trace.steps if step.interface.startswith(f"{boundary}:")]


def _arguments(step: Step) -> dict[str, Any]:
    return dict(unpack_request(step.request).arguments)


def _raised(trace: Trace, boundary: str) -> Exception:
    """Return the exception that was injected."""
    failure = next(step.failure for step in _of(trace, boundary) if step.failure is not None)
    error = exception_of(failure, {})
    assert isinstance(error, Exception)
    return error
