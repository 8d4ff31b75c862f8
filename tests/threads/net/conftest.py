"""The certificates and the brokers in memory, which the unit tests use as well."""

from tests.unit.net.conftest import broker, certificates, dialer, net

__all__ = ["broker", "certificates", "dialer", "net"]
