"""Caches the versions that brokers support, for as long as there are connections to them.

A broker may come back as another version: so the first connection that is lost, or the last one
that is closed, removes its entry.
"""

from dataclasses import dataclass

from zkconsumer.forking import ForkedLock
from zkconsumer.wire.negotiation import BrokerVersions
from zkconsumer.wire.probes import Probe

Address = tuple[str, int]


@dataclass(slots=True, eq=False)
class KnownBroker:
    """What is known of the broker at one address.

    Attributes:
        fact: the versions of a broker that can't list them; or the probe that makes it list them.
        users: the number of open connections that rely on it.
    """

    address: Address
    fact: BrokerVersions | Probe
    users: int = 0


class KnownVersions:
    """Caches broker versions by address. Thread: any."""

    def __init__(self) -> None:
        self._lock = ForkedLock()
        self._findings: dict[Address, KnownBroker] = {}

    def of(self, address: Address) -> BrokerVersions | Probe | None:
        """Return what is known of a broker; None if nothing is."""
        with self._lock:
            finding = self._findings.get(address)
            return None if finding is None else finding.fact

    def use(self, address: Address, fact: BrokerVersions | Probe) -> KnownBroker:
        """Record a connection that relies on this fact; ``release`` the result when it ends."""
        with self._lock:
            finding = self._findings.get(address)
            if finding is None or finding.fact != fact:
                finding = self._findings[address] = KnownBroker(address, fact)
            finding.users += 1
            return finding

    def release(self, finding: KnownBroker, *, lost: bool) -> None:
        """Record the end of a connection; ``lost``: not by us, so the broker may have changed."""
        with self._lock:
            finding.users -= 1
            if (lost or not finding.users) and self._findings.get(finding.address) is finding:
                del self._findings[finding.address]

    def forget(self, address: Address) -> None:
        """Forget a broker, since no connection to it could be opened."""
        with self._lock:
            self._findings.pop(address, None)
