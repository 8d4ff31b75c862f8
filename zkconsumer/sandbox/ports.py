"""Finds free ports on loopback, and checks given ones."""

import random
import socket
from pathlib import Path

from zkconsumer.errors import SandboxError

LOOPBACK = "127.0.0.1"
ANYWHERE = "0.0.0.0"  # noqa: S104 - chosen only by the container's command line

_LOWEST = 10_240
_DEFAULT_EPHEMERAL_START = 32_768
_TRIES = 200
# Parallel tests with the same seed would choose the same ports from the shared generator.
_of_the_system = random.SystemRandom()


def is_free(port: int) -> bool:
    """Return whether a server could listen on a loopback port now."""
    with socket.socket() as probe:
        # As servers do: a port with connections in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
        return True


def require_free(port: int, what: str) -> None:
    """Check that a port is free.

    Raises:
        SandboxError: the port is in use; names it, and its intended use.
    """
    if not is_free(port):
        raise SandboxError(
            f"port {port} for {what} is taken: stop the process that listens on it or choose "
            "another port"
        )


def pick_free(taken: set[int]) -> int:
    """Return a free port below the range of ephemeral ports.

    A stopped server's port must stay free until it starts again, so the system must not assign it
    to a client in the meantime. A client that connects to the port of a stopped server could even
    be assigned that very port, and be connected to itself.

    Args:
        taken: ports not to choose; the chosen one is added.
    """
    end = max(_ephemeral_start(), _LOWEST + 1_000)
    for _ in range(_TRIES):
        port = _of_the_system.randrange(_LOWEST, end)
        if port not in taken and is_free(port):
            taken.add(port)
            return port
    raise SandboxError(f"no free port on {LOOPBACK} between {_LOWEST} and {end}")


def _ephemeral_start() -> int:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii")
        return int(text.split()[0])
    except (OSError, ValueError, IndexError):
        return _DEFAULT_EPHEMERAL_START
