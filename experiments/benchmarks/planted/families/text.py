"""Text against faults: a long text is found at once, and a short one together with a small fault is cheaper.

The agent reads seven mails and asks seven services. A text of four hundred characters anywhere pushes its instructions
out of the context. A remark of any length in the one mail that quotes a rule is harmless, and so is a short list of
rules; both together are not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, Desk, complete, finished, shapes_for, stopped
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, hooks, tries
from chaosagent.experiments.benchmarks.planted.levels import fourteen, space, texts
from chaosagent.faults.injection import inject
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 2
MAIL = "Where is my parcel? It was to come last week."
ROOM = 400
SHARE = 0.02


def text(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(14)
    mails, services = names[:7], names[7:]
    quoting, rules = layout.pick(mails), layout.pick(services)
    order = layout.sample(names, len(names))
    space_of_texts = space(*fourteen(SHARE), texts())

    @target(name="planted-text")
    async def agent(task: Task, run: Run) -> Outcome:
        """Reads mails and looks up what they are about."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(services, [rules]))
        doors: dict[str, Callable[..., Awaitable[str]]] = {mail: run.prompt(mail) for mail in mails}
        added, remarked, short = 0, False, False
        for name in order:
            if name in doors:
                read = len(await doors[name]("read", text=MAIL)) - len(MAIL)
                added, remarked = added + read, remarked or (read > 0 and name == quoting)
            else:
                answer = await desk.fetch(name, attempts=ATTEMPTS, accepts=ANY_LIST if name == rules else complete)
                if answer is None:
                    return stopped(f"{name} does not answer")
                short = short or (name == rules and answer.lost > 0)
            desk.rest(name, min(added, ROOM), remarked, short)
        if added >= ROOM or (remarked and short):
            return finished(0.0)
        return finished(1.0 - added / ROOM)

    places = hooks(*(f"prompt:{mail}[1]" for mail in mails))
    places += tuple(hook for name in services for hook in tries(name, ATTEMPTS))
    (remark,) = (priced.operator for priced in space_of_texts.at(places[0].boundary, "prompt:*", "")[:1])
    minimum = parse(f"service:{rules}[1] service.partial_response(share={SHARE})").with_injection(
        inject(hooks(f"prompt:{quoting}[1]")[0], remark)
    )
    return Planted(agent, space_of_texts, places, (minimum,), budget=3.0)
