"""The benchmark of starting: whole processes."""

from __future__ import annotations

import pytest

from chaosagent.experiments.benchmarks.start import main


@pytest.mark.slow
def test_the_command_times_every_process(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--records", "2", "--rounds", "1"])

    printed = capsys.readouterr().out
    for row in ("import chaosagent", "chaosagent --help", "replay of 1 exact record", "replay of 2 exact records"):
        assert row in printed
