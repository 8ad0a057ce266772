"""A search that is ended in any way at any moment leaves nothing, and its resumption ends with the same result."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.lab.kill_matrix.matrix import QUICK, Matrix, moments_of
from tests.lab.kill_matrix.sessions import ENDINGS
from tests.thorough import IS_THOROUGH

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")]


@pytest.mark.parametrize(
    ("study", "executor", "ending"), [("secrets", "process", "SIGKILL"), ("command", "inline", "SIGINT twice")]
)
def test_a_search_that_is_ended_leaves_nothing_and_is_resumed_to_the_same_result(
    study: str, executor: str, ending: str, tmp_path: Path
) -> None:
    """The attack in full: `python -m tests.lab.kill_matrix --moments 30`."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    pytest.importorskip("httpx")
    matrix = Matrix(tmp_path, study, executor, QUICK)
    endings = list(ENDINGS) if IS_THOROUGH else [ending]

    for one, (moment, again) in zip(endings, moments_of(len(endings), matrix.life, random.Random(1)), strict=True):
        assert matrix.wrong(one, moment, again) == []
