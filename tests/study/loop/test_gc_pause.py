"""Garbage collection while a study runs."""

import contextlib
import gc

from chaosagent.study.loop.gc_pause import OLD_MIN, rare_full_collections


def test_the_thresholds_are_as_they_were_when_a_study_is_over() -> None:
    before = gc.get_threshold()

    def interrupted() -> None:
        with rare_full_collections():
            assert gc.get_threshold() == (*before[:2], max(before[2], OLD_MIN))
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        interrupted()

    assert gc.get_threshold() == before
