"""Engines that are not searchers of the package, behind one protocol, one per file."""

from chaosagent.extras import require

require("numpy", extra="statistics", needed_by="the benchmark of planted targets")  # before an engine imports it
