"""Real brokers with TLS and SASL, shared by all tests of the session."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.support.certificates import Certificates, certificates
from tests.support.secure_broker import SecureBroker, secure_broker

__all__ = ["certificates"]

SecureBrokerOf = Callable[[str], SecureBroker]


@pytest.fixture(scope="session")
def secure_broker_of(
    certificates: Certificates,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecureBrokerOf]:
    """Give a function that starts a broker of a version at its first request."""
    folder = tmp_path_factory.mktemp("jaas")
    with ExitStack() as running:
        started: dict[str, SecureBroker] = {}

        def broker(version: str) -> SecureBroker:
            if version not in started:
                started[version] = running.enter_context(
                    secure_broker(version, certificates, folder)
                )
            return started[version]

        yield broker
