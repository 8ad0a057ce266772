"""The contracts that need no one to write them: they hold for any target and are on by default."""

from __future__ import annotations

from chaosagent.contracts.contract import Contract
from chaosagent.contracts.templates.all_or_nothing import AllOrNothing
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.contracts.templates.no_extra_effects import NoExtraEffects
from chaosagent.contracts.templates.no_ghosts import NoGhosts
from chaosagent.contracts.templates.no_leak import NoLeak
from chaosagent.contracts.templates.promises_kept import PromisesKept
from chaosagent.contracts.templates.termination import Termination


def default_contracts() -> tuple[Contract, ...]:
    """Return the default contracts; those that compare with the nominal run do so by declared effects."""
    return (
        Termination(),
        NoCrash(),
        NoExtraEffects(),
        AtMostOnce(),
        AllOrNothing(),
        PromisesKept(),
        NoGhosts(),
        NoLeak(),
    )
