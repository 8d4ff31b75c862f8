"""Finds the addresses of hosts, in bounded time and with a bounded number of threads.

The system's resolver has no time-out that a caller can set, so it runs in separate threads. All
callers that wait for one name share one lookup: a name that hangs occupies one thread, however
often it is looked up, and the waiting callers can be interrupted.
"""

import os
import socket
import threading
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from zkconsumer.printable import printable
from zkconsumer.scope import Mailbox, ThreadScope

SocketAddress: TypeAlias = tuple[socket.AddressFamily, tuple[Any, ...]]
"""An address family, and the address that a socket of it connects to."""
Outcome: TypeAlias = Sequence[SocketAddress] | OSError

_MOST_THREADS: Final = 16


class _Resolver:
    """Looks up names, each in one thread. Thread: any."""

    def __init__(self) -> None:
        # Reentrant: a signal handler that connects may interrupt its holder.
        self._lock = threading.RLock()
        self._scope = ThreadScope("resolver")
        self._thread_count = 0
        self._queue: list[str] = []
        self._waiting: dict[str, list[Mailbox[Outcome]]] = {}

    def wait_for(self, host: str, timeout_ms: int, outcome: Mailbox[Outcome]) -> Outcome | None:
        """Return what the lookup or an interrupt puts into ``outcome``; None after the time-out."""
        try:
            waiting = self._join(host, outcome)
        except RuntimeError as error:  # no thread can be started
            return OSError(f"{host!r} can't be looked up: {error}")
        try:
            return outcome.get(timeout_ms)
        finally:
            self._leave(host, waiting, outcome)

    def _join(self, host: str, outcome: Mailbox[Outcome]) -> list[Mailbox[Outcome]]:
        """Join the lookup of this name, or begin it; return the mailboxes that wait for it."""
        with self._lock:
            if host not in self._waiting:
                if self._thread_count < _MOST_THREADS:
                    self._scope.spawn("names", self._run, stop=lambda: None)
                    self._thread_count += 1
                self._waiting[host] = []
                self._queue.append(host)
            self._waiting[host].append(outcome)
            return self._waiting[host]

    def _leave(self, host: str, waiting: list[Mailbox[Outcome]], outcome: Mailbox[Outcome]) -> None:
        with self._lock:
            waiting.remove(outcome)
            if not waiting and host in self._queue and self._waiting[host] is waiting:
                self._queue.remove(host)
                del self._waiting[host]

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._thread_count -= 1
                    return
                host = self._queue.pop(0)
            found: Outcome
            try:
                found = _addresses(host)
            except OSError as error:
                found = error
            except Exception as error:  # noqa: BLE001 - such as no memory: the waiting callers get it
                found = OSError(f"{host!r} can't be looked up: {error!r}")
            with self._lock:
                for outcome in self._waiting.pop(host):
                    outcome.put(found)


_resolver: Final = _Resolver()
# Its threads do not run in a forked child.
os.register_at_fork(after_in_child=_resolver.__init__)  # type: ignore[misc]


def addresses_of(
    host: str, port: int, timeout_ms: int, outcome: Mailbox[Outcome]
) -> Sequence[SocketAddress]:
    """Return the addresses of a host, in the order in which to try them.

    Args:
        host: the host's name, or an address, which is never looked up.
        port: the port of each address.
        timeout_ms: time limit of the lookup.
        outcome: an empty mailbox; an error that is put into it ends the wait.

    Raises:
        OSError: the name is unknown, or was not found in time.

    Thread: any.
    """
    try:
        found: Outcome | None = _addresses(host, socket.AI_NUMERICHOST)
    except OSError:
        found = _resolver.wait_for(host, timeout_ms, outcome)
    if found is None:
        raise TimeoutError(f"the address of {printable(host)} was not found within {timeout_ms} ms")
    if isinstance(found, OSError):
        raise found
    return [(family, (address[0], port, *address[2:])) for family, address in found]


def _addresses(host: str, flags: int = 0) -> Sequence[SocketAddress]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    except ValueError as error:  # it can't be a host name
        raise OSError(f"{host!r} is not a host name") from error
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))
