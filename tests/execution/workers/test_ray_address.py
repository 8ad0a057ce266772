"""An address of Ray where nobody listens is refused at once, in one sentence."""

from __future__ import annotations

import socket

import pytest

from chaosagent.errors import StudyError
from chaosagent.execution.workers.ray_address import check_answers


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_an_address_where_nobody_listens_is_refused_in_one_sentence(form: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(StudyError, match=r"^Ray does not answer at .*refused.*\. Start a cluster there.*$") as caught:
        check_answers(form.format(port))

    assert "\n" not in str(caught.value)


def test_an_address_that_answers_and_one_that_is_no_address_are_left_to_ray() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_answers(f"127.0.0.1:{server.getsockname()[1]}")
    for other in ("", "auto", "local"):
        check_answers(other)
