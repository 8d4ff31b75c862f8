"""Which ZooKeeper sessions are live: only the leader's, or a lone server's, list counts."""

from collections.abc import Callable

import pytest

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.manual_clock import ManualClock
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.sessions import EnsembleSessions, parse_dump

LIMIT_MS = 600
OWN = 0x1A1FFD2F3350016

OF_346 = f"""SessionTracker dump:
Session Sets (3):
0 expire at Sat Nov 21 20:36:19 UTC 2026:
1 expire at Sat Nov 21 20:36:24 UTC 2026:
\t0x{OWN:x}
1 expire at Sat Nov 21 20:36:27 UTC 2026:
\t0xffa1ffd304ac0017
ephemeral nodes dump:
Sessions with Ephemerals (1):
0xdead:
\t/kafka/controller
"""
OF_384 = f"""SessionTracker dump:
Session Sets (2)/(1):
0 expire at Sat Nov 21 20:36:21 UTC 2026:
1 expire at Sat Nov 21 20:36:27 UTC 2026:
\t0x{OWN:x}
ephemeral nodes dump:
Sessions with Ephemerals (0):
Connections dump:
Connections Sets (2)/(1):
1 expire at Sat Nov 21 20:36:24 UTC 2026:
\tip: /127.0.0.1:54274 sessionId: 0xdead
"""
OF_A_FOLLOWER = """SessionTracker dump:
org.apache.zookeeper.server.quorum.LearnerSessionTracker@1b2c3d
ephemeral nodes dump:
Sessions with Ephemerals (1):
0xdead:
\t/kafka/controller
"""
OF_A_FOLLOWER_OF_35 = f"""SessionTracker dump:
Local Session Sets (1)/(1):
1 expire at Sat Nov 21 20:36:27 UTC 2026:
\t0x{OWN:x}
Global Sessions(1):
0x{OWN:x}\t6000ms
ephemeral nodes dump:
"""
OF_A_LEADER_WITH_LOCAL_SESSIONS = OF_384.replace(
    "Session Sets", "Local Session Sets (1)/(1):\n\t0xbeef\nGlobal Session Sets", 1
)
OF_THE_CAREFUL = "dump is not executed because it is not in the whitelist.\n"


class Server:
    """Responds to a four-letter command and closes the connection, or never responds."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.received = b""
        self._reported = False

    @property
    def is_over(self) -> bool:
        """See ``Conversation``."""
        return self._reported

    def on_change(self, wake: Callable[[], None]) -> None:
        """See ``Conversation``."""

    def receive(self, data: bytes, now_ms: int) -> None:  # noqa: ARG002 - at once
        """See ``Conversation``."""
        self.received += data

    def take_outgoing(self, now_ms: int) -> bytes:  # noqa: ARG002 - at once
        """See ``Conversation``."""
        if self.text is None or self.received != b"dump" or self._reported:
            return b""
        self._reported = True
        return self.text.encode()

    def next_deadline_ms(self) -> int | None:
        """See ``Conversation``."""
        return None

    def hang_up(self) -> None:
        """See ``Conversation``."""


def requested(*responses: str | None) -> frozenset[int] | None:
    """Return the known sessions of an ensemble whose servers respond so, or are ``down``."""
    network = MemoryNetwork()
    for number, response in enumerate(responses):
        if response != "down":
            server = Server(response)
            network.listen(f"zk{number}", 2181, lambda server=server: server)  # type: ignore[misc]
    servers = [(f"zk{number}", 2181) for number in range(len(responses))]
    clock = ManualClock()
    ensemble = EnsembleSessions(network, servers, own_session=lambda: OWN, clock=clock)
    return ensemble(Deadline(clock, LIMIT_MS))


def test_lists_of_lone_servers_and_leaders_are_parsed() -> None:
    """Session ids are signed numbers of 64 bits, as in nodes."""
    assert parse_dump(OF_346) == frozenset({OWN, 0xFFA1FFD304AC0017 - (1 << 64)})
    assert parse_dump(OF_384) == frozenset({OWN})
    assert parse_dump(OF_A_LEADER_WITH_LOCAL_SESSIONS) == frozenset({OWN})


@pytest.mark.parametrize(
    "text",
    [OF_A_FOLLOWER, OF_A_FOLLOWER_OF_35, OF_THE_CAREFUL, "", OF_346[: len(OF_346) // 2]],
)
def test_a_partial_list_does_not_count(text: str) -> None:
    """A follower's list, a refusal, or a truncated list does not count."""
    assert parse_dump(text) is None


def test_the_leader_is_found() -> None:
    """The leader is found, whichever other servers are down, silent or followers."""
    assert requested(OF_384) == frozenset({OWN})
    assert requested("down", OF_A_FOLLOWER, None, OF_346) == parse_dump(OF_346)


@pytest.mark.parametrize(
    "responses",
    [
        [],
        ["down"],
        [OF_A_FOLLOWER, OF_THE_CAREFUL],
        [OF_346.replace(f"{OWN:x}", "abc")],
    ],
)
def test_nothing_is_known_without_the_leader(responses: list[str]) -> None:
    """Nothing is known without the leader, or if the list lacks our own session."""
    assert requested(*responses) is None
