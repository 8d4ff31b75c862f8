"""Caches the versions that brokers support, for as long as a connection to them proves it.

A broker may return as another version: what is cached holds while connections to it live. The first
connection that is lost, or the last one that is closed, ends it.
"""

from dataclasses import dataclass

from zkconsumer.forking import ForkedLock
from zkconsumer.wire.negotiation import BrokerVersions, Probe

Address = tuple[str, int]


@dataclass(slots=True, eq=False)
class KnownBroker:
    """The cached knowledge of the broker at one address.

    Attributes:
        fact: the versions of an old broker; or the probe that a newer one answers at once.
    """

    address: Address
    fact: BrokerVersions | Probe
    users: int = 0


class KnownVersions:
    """A cache of broker versions by address. Thread: any."""

    def __init__(self) -> None:
        self._lock = ForkedLock()
        self._findings: dict[Address, KnownBroker] = {}

    def of(self, address: Address) -> BrokerVersions | Probe | None:
        """Return what is known of a broker; None if nothing is."""
        with self._lock:
            finding = self._findings.get(address)
            return None if finding is None else finding.fact

    def use(self, address: Address, fact: BrokerVersions | Probe) -> KnownBroker:
        """Record that a connection was made by this fact; ``release`` the result when it ends."""
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
        """Forget a broker: a connection to it could not be made."""
        with self._lock:
            self._findings.pop(address, None)
