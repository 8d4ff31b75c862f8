"""Certificates for tests of TLS, and a broker in memory."""

import pytest

from tests.support.certificates import certificates
from tests.support.spoken_broker import SpokenBroker
from tests.support.spoken_dialling import ADDRESS, answering, dialer_to
from zkconsumer.net.negotiated import BrokerDialer

__all__ = ["certificates"]


@pytest.fixture
def broker() -> SpokenBroker:
    """A broker of today."""
    return SpokenBroker(ADDRESS, response=answering)


@pytest.fixture
def dialer(broker: SpokenBroker) -> BrokerDialer:
    """A way to it."""
    return dialer_to(broker)
