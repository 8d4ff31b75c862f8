"""Accepting connections while the system is out of file descriptors or memory."""

import asyncio
import errno
import socket
from collections.abc import Callable

import pytest

from zkconsumer.inbound.listener import Listener
from zkconsumer.inbound.pacing import PacedLog


class Refusing(socket.socket):
    """A listening socket that fails to accept as often as a test says."""

    failures = 0
    number = errno.EMFILE
    tried = 0

    def accept(self) -> tuple[socket.socket, object]:
        """See ``socket.socket``."""
        self.tried += 1
        if self.failures:
            self.failures -= 1
            raise OSError(self.number, "it failed")
        return super().accept()


def listen(
    failures: int, number: int, *, clients: int, enough: Callable[[int, int], bool]
) -> tuple[int, int, int]:
    """Accept until ``enough`` is true of the numbers of accepted connections and of reliefs.

    Returns:
        How many connections were accepted, and how often it was relieved, and tried.
    """

    async def run() -> tuple[int, int, int]:
        accepted: list[socket.socket] = []
        relieved: list[None] = []
        events = asyncio.Event()

        def take(one: socket.socket, host: str) -> None:
            assert host == "127.0.0.1"
            accepted.append(one)
            events.set()

        def relieve() -> None:
            relieved.append(None)
            events.set()

        with Refusing() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(10)
            listening.failures, listening.number = failures, number
            listener = Listener(listening, take, relieve=relieve, paced=PacedLog())
            opened = [socket.create_connection(listening.getsockname()) for _ in range(clients)]
            try:
                async with asyncio.timeout(10):
                    while not enough(len(accepted), len(relieved)):
                        events.clear()
                        await events.wait()
            finally:
                listener.close()
                listener.close()
                for sock in (*opened, *accepted):
                    sock.close()
            return len(accepted), len(relieved), listening.tried

    return asyncio.run(run())


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_accepting_backs_off_and_recovers(number: int, caplog: pytest.LogCaptureFixture) -> None:
    """Each failure frees one connection's resources; one line is logged of all failures."""
    accepted, relieved, tried = listen(3, number, clients=2, enough=lambda taken, _: taken == 2)
    assert (accepted, relieved) == (2, 3)
    assert tried <= 3 + 2 + 2
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("no connection can be accepted: ")
    assert line.endswith("trying again every 200 ms")


def test_a_connection_that_failed_before_it_was_accepted_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The next one is accepted at once."""
    accepted, relieved, _ = listen(1, errno.EPROTO, clients=1, enough=lambda taken, _: taken == 1)
    assert (accepted, relieved) == (1, 0)
    assert caplog.text == ""


def test_a_listener_can_be_closed_while_it_backs_off() -> None:
    """It does not accept again."""
    accepted, relieved, tried = listen(
        9, errno.EMFILE, clients=1, enough=lambda _, relieved: relieved == 1
    )
    assert (accepted, relieved, tried) == (0, 1, 1)
