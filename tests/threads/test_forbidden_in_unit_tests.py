"""What unit tests may not do."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from tests.support.forbidden_in_unit_tests import forbid_io
from zkconsumer.scope import ThreadScope

ACTIONS: list[tuple[Callable[[], object], str]] = [
    (lambda: ThreadScope("forbidden").spawn("any", print, stop=print), "started a thread"),
    (socket.socket, "opened a socket"),
    (lambda: subprocess.run([sys.executable, "--version"], check=True), "started a process"),
    (os.fork, "started a process"),
]


@pytest.mark.parametrize(("do", "action"), ACTIONS)
def test_an_action_is_refused_with_where_it_belongs(do: Callable[[], object], action: str) -> None:
    """It is also recorded, in case the test catches the error."""
    with forbid_io() as refused, pytest.raises(AssertionError, match=f"{action}: .* tests/threads"):
        do()
    assert refused == [action]


def test_other_threads_may_do_it() -> None:
    """They may be left of an earlier test."""
    opened: list[socket.socket] = []
    begin = threading.Event()

    def open_late() -> None:
        begin.wait(10)
        opened.append(socket.socket())

    scope = ThreadScope("left behind")
    scope.spawn("opens", open_late, stop=begin.set)
    with forbid_io() as refused:
        assert scope.close(10_000) == []
    assert (len(opened), refused) == (1, [])
    opened[0].close()


def test_afterwards_nothing_is_refused() -> None:
    """Tests of tests/threads may run in the same process."""
    with forbid_io():
        pass
    socket.socket().close()
