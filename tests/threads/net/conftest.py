"""The certificates, and the broker in memory, that unit tests have, too."""

from tests.unit.net.conftest import broker, certificates, dialer

__all__ = ["broker", "certificates", "dialer"]
