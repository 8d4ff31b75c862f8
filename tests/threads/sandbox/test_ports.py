"""Free ports on loopback."""

import random
import socket

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.ports import is_free, pick_free, require_free


def test_a_free_port_lies_below_those_of_outgoing_connections() -> None:
    """So the system gives it to no outgoing connection while its server is down."""
    taken: set[int] = set()
    ports = {pick_free(taken) for _ in range(20)}
    assert len(ports) == 20
    assert taken == ports
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        assert max(ports) < int(file.read().split()[0])


def test_a_port_that_is_listened_on_is_taken() -> None:
    """The error names the port and the server that needs it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        with pytest.raises(SandboxError, match=f"port {port} for ZooKeeper is taken"):
            require_free(port, "ZooKeeper")
    assert is_free(port)


def test_programs_with_the_same_random_seed_get_different_ports() -> None:
    """Parallel test processes have the same seed, and each starts servers of its own."""
    chosen = []
    for _ in range(2):
        random.seed(8)
        chosen.append([pick_free(set()) for _ in range(3)])
    assert chosen[0] != chosen[1]
