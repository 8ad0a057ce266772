"""What the agent can do in the workspace suite: a calendar, a mailbox, a drive."""

from __future__ import annotations

from chaosagent.experiments.dojo.closed_loop import drive, events, mail
from chaosagent.experiments.dojo.closed_loop.agent import Skill

SKILLS: tuple[Skill, ...] = (*events.SKILLS, *mail.SKILLS, *drive.SKILLS)
