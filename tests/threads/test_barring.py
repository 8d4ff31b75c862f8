"""What is refused to unit tests."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from tests.support.barring import barring
from zkconsumer.scope import ThreadScope

DEEDS: list[tuple[Callable[[], object], str]] = [
    (lambda: ThreadScope("barred").spawn("any", print, stop=print), "started a thread"),
    (socket.socket, "opened a socket"),
    (lambda: subprocess.run([sys.executable, "--version"], check=True), "started a process"),
    (os.fork, "started a process"),
]


@pytest.mark.parametrize(("do", "deed"), DEEDS)
def test_it_is_refused_with_a_word_on_where_it_belongs(do: Callable[[], object], deed: str) -> None:
    """And told of, though whoever tried has caught that."""
    with barring() as refused, pytest.raises(AssertionError, match=f"{deed}: .* tests/threads"):
        do()
    assert refused == [deed]


def test_other_threads_are_left_alone() -> None:
    """What an earlier test has left behind."""
    opened: list[socket.socket] = []
    begin = threading.Event()

    def open_late() -> None:
        begin.wait(10)
        opened.append(socket.socket())

    scope = ThreadScope("left behind")
    scope.spawn("opens", open_late, stop=begin.set)
    with barring() as refused:
        assert scope.close(10_000) == []
    assert (len(opened), refused) == (1, [])
    opened[0].close()


def test_afterwards_all_is_as_before() -> None:
    """Tests of tests/threads run in the same process."""
    with barring():
        pass
    socket.socket().close()
