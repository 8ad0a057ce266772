"""Task and configuration as records keep them: without what the target declares to be secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from chaosagent.canonical import Plain, plain
from chaosagent.targets.target import Target
from chaosagent.trace.redact import Redactor
from chaosagent.vocabulary import Labels, SystemConfig, Task


def stored_task(task: Task, target: Target) -> Task:
    """Return a task as records of its target have it."""
    if not target.secrets:
        return task
    redactor, labels = Redactor(target.secrets), task.labels
    forbidden, canaries = (tuple(map(redactor.text, texts)) for texts in (labels.forbidden, labels.canaries))
    return replace(task, input=redactor.value(plain(task.input)), labels=Labels(labels.misuse, forbidden, canaries))


def stored_config(config: SystemConfig, target: Target) -> SystemConfig:
    """Return a configuration as records of its target have it."""
    if not target.secrets:
        return config
    settings = Redactor(target.secrets).value(plain(config.settings))
    return SystemConfig(config.name, cast("Mapping[str, Plain]", settings))


def full_task(stored: Task, target: Target) -> Task:
    """Return a task of a record with its secrets: today's, where it is stored so; else the stored one."""
    today = target.tasks.get(stored.id)
    return today if today is not None and stored_task(today, target) == stored else stored


def full_config(stored: SystemConfig, target: Target) -> SystemConfig:
    """Return a configuration of a record with its secrets, as `full_task` returns a task."""
    today = target.configs.get(stored.name)
    return today if today is not None and stored_config(today, target) == stored else stored
