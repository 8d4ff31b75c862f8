"""Which tests a worker of pytest-xdist gets at once."""

from xdist.scheduler import LoadScopeScheduling

_SECURE = "tests/integration/net/test_secur"
"""Modules that share brokers with TLS and SASL, of five versions."""


class ByServers(LoadScopeScheduling):
    """A module's tests go to one worker; and so do modules that share servers which are dear."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return _SECURE if module.startswith(_SECURE) else module
