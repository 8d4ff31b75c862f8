"""The certificates, and the brokers in memory, that unit tests have, too."""

from tests.unit.net.conftest import broker, certificates, dialer, net

__all__ = ["broker", "certificates", "dialer", "net"]
