"""A folder with an agent that pays twice, and how the plug-in is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import AGENT

# Whether the plug-in is installed or not, exactly one is loaded: that of this checkout.
PLUGIN = ("-p", "no:chaosagent", "-p", "chaosagent.pytest_plugin.plugin", "-p", "no:cacheprovider", "-p", "no:asyncio")
LOST = "service:payments[1] service.lost_response(when=after)"
FIXED = AGENT.replace('{"keys": False}', '{"keys": True}')


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """Return a folder with an agent that pays twice, in which tests run."""
    pytester.makepyfile(agent=AGENT)
    return pytester.path
