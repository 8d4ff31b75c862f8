"""Detects quickly that nothing listens at an address, for clients that would otherwise retry.

Retries are right for a server that restarts, and wrong for a misspelt port: the user of a command
should not have to wait for the time-out to see that.
"""

from collections.abc import Iterable
from typing import Final

from zkconsumer.errors import ConnectFailed
from zkconsumer.net.tcp import TcpConnector

_TIMEOUT_MS: Final = 1_000
_MOST: Final = 5


def why_nothing_listens(servers: Iterable[tuple[str, int]]) -> str | None:
    """Return why none of the servers can be reached; None if one may be.

    A server that does not respond in time may do so later: the caller's own time-out decides.

    Args:
        servers: hosts and ports; only the first few are tried.
    """
    reasons = []
    for host, port in list(servers)[:_MOST]:
        try:
            TcpConnector().connect(host, port, timeout_ms=_TIMEOUT_MS).close()
        except ConnectFailed as error:
            if isinstance(error.__cause__, TimeoutError):
                return None
            reasons.append(str(error))
        else:
            return None
    return "; ".join(reasons) or None
