"""tau2-bench's domains as targets, with an agent that carries out the actions which the benchmark calls right."""

from __future__ import annotations

import asyncio
import copy
from functools import cache, partial
from importlib import import_module
from typing import Any

from tau2.environment.environment import Environment, ToolCall

from chaosagent import Claim, Effect, Outcome, StatusError, SystemConfig, Target, Task, effect, target

TWICE = ("book_reservation", "cancel_reservation", "send_certificate")  # others refuse, or set what is set already
LOOKS = {"reservation_id": "get_reservation_details", "order_id": "get_order_details", "user_id": "get_user_details"}


class Entries(dict[str, Any]):
    """A table of the database. What is looked up is copied for this run; the rest is that of every run."""

    def __init__(self, first: dict[str, Any]) -> None:
        super().__init__(first)
        self.first = first

    def __getitem__(self, key: str) -> Any:
        if super().__getitem__(key) is self.first.get(key):
            self[key] = copy.deepcopy(self.first[key])
        return super().__getitem__(key)


def play(world: Environment, tool: str, /, **arguments: Any) -> str:
    """Call a tool; where it refuses, the answer is a text that begins with `Error: `."""
    return str(world.get_response(ToolCall(name=tool, arguments=arguments)).content)


async def persist(call: Any, look: Any = None) -> str | None:
    """Call up to three times; with a `look`, not again when that shows another world than before."""
    before = await look() if look else None
    for _ in range(3):
        try:
            async with asyncio.timeout(30):
                return str(await call())
        except (TimeoutError, ConnectionError, StatusError):
            if look and await look() != before:
                return "It was done."
    return None


def domain(name: str) -> Target:
    """Return a domain of tau2-bench, `airline` or `retail`, as the target `tau2-<name>`."""
    import_module("loguru").logger.disable("tau2")  # it logs every call
    module = import_module(f"tau2.domains.{name}.environment")
    kit = module.get_environment().tools
    tasks = {task.id: task.evaluation_criteria.actions for task in module.get_tasks()}
    write = {tool: kit.tool_type(tool) == "write" for tool in kit.tools}

    def fresh() -> Environment:
        tables = {table: Entries(entries) for table, entries in vars(kit.db).items()}
        return Environment("", "", type(kit)(type(kit.db).model_construct(**tables)))

    @cache
    def right(task: str) -> Environment:
        world = fresh()
        for action in tasks[task]:
            play(world, action.name, **action.arguments)
        return world

    def door(run: Any, world: Environment, tool: str) -> Any:
        rule = effect(function=lambda asked, _: Effect(tool, asked), idempotent=tool not in TWICE)
        said: Any = {"effects": {"call": rule}} if write[tool] else {"read_only": True}
        service = run.service(tool, {"call": partial(play, world, tool)}, failed_when="^Error: ", **said)
        return partial(service, "call")

    @target(name=f"tau2-{name}", tasks=map(Task, tasks), configs=map(SystemConfig, ("retries", "checks-first")))
    async def agent(task: Task, run: Any) -> Outcome:
        """An agent that carries out the right actions of a task of tau2-bench."""
        world, claims = fresh(), tuple[Claim, ...]()
        doors = {tool: door(run, world, tool) for tool in kit.tools}
        for action in tasks[task.id]:
            look, given = None, action.arguments
            if write[action.name] and run.config.name == "checks-first":
                key = next(key for key in LOOKS if key in given)
                look = partial(persist, partial(doors[LOOKS[key]], **{key: given[key]}))
            answer = await persist(partial(doors[action.name], **given), look)
            if answer is None:
                return Outcome("A colleague will do the rest.", success=False, claims=claims)
            if write[action.name] and not answer.startswith("Error: "):
                claims += (Claim(action.name, given),)
        return Outcome(f"Done: {len(claims)}.", success=world.tools.db == right(task.id).tools.db, claims=claims)

    return agent
