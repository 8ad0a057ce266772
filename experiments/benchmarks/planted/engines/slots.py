"""Schedules as a conditional space for Optuna: how many injections, then a hook and a level for each."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import TYPE_CHECKING

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.scores import injections_max
from chaosagent.extras import require
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.operator import Operator
from chaosagent.faults.schedule import Schedule, schedule

if TYPE_CHECKING:
    from optuna.trial import Trial


def suggested(trial: Trial, arena: Arena) -> Schedule:
    """Return the schedule that a trial suggests; of two injections at one hook the first stands."""
    chosen: dict[Hook, Operator] = {}
    places = range(len(arena.hooks))
    for slot in range(trial.suggest_int("injections", 1, injections_max(arena))):
        hook = arena.hooks[trial.suggest_categorical(f"hook {slot}", places)]
        levels = arena.levels[hook]
        level = trial.suggest_categorical(f"{hook.boundary.value} level {slot}", range(len(levels)))
        chosen.setdefault(hook, levels[level])
    return schedule(inject(hook, operator) for hook, operator in chosen.items())


def quiet_optuna(needed_by: str) -> ModuleType:
    """Return Optuna, without its lines on every trial and its remarks that groups and seeds are experimental.

    Raises:
        MissingExtraError: It is not installed.
    """
    optuna = require("optuna", extra="search", needed_by=needed_by)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna
