"""What was found out about brokers, for as long as a connection proves that they are the same.

A broker may be back as another version: what was proved holds while connections to it live, and
the first of them that is lost ends it, as the last does that is closed.
"""

from dataclasses import dataclass

from zkconsumer.forking import ForkedLock
from zkconsumer.wire.negotiation import BrokerVersions, Probe

Address = tuple[str, int]


@dataclass(slots=True, eq=False)
class KnownBroker:
    """What is known of the broker at one address.

    Attributes:
        fact: what an old broker serves; or the question that a newer one responses at once.
    """

    address: Address
    fact: BrokerVersions | Probe
    users: int = 0


class KnownVersions:
    """Thread: any."""

    def __init__(self) -> None:
        self._lock = ForkedLock()
        self._findings: dict[Address, KnownBroker] = {}

    def of(self, address: Address) -> BrokerVersions | Probe | None:
        """Return what is known; None where nothing is."""
        with self._lock:
            finding = self._findings.get(address)
            return None if finding is None else finding.fact

    def use(self, address: Address, fact: BrokerVersions | Probe) -> KnownBroker:
        """Return a connection came to be by this fact; ``release`` what this gives when it ends."""
        with self._lock:
            finding = self._findings.get(address)
            if finding is None or finding.fact != fact:
                finding = self._findings[address] = KnownBroker(address, fact)
            finding.users += 1
            return finding

    def release(self, finding: KnownBroker, *, lost: bool) -> None:
        """A connection ended; ``lost``: not by our will, so that the broker may be another one."""
        with self._lock:
            finding.users -= 1
            if (lost or not finding.users) and self._findings.get(finding.address) is finding:
                del self._findings[finding.address]

    def forget(self, address: Address) -> None:
        """A connection could not be made: nothing is sure any more."""
        with self._lock:
            self._findings.pop(address, None)
