"""Certificates for tests of TLS, and brokers in memory."""

import pytest

from tests.support.certificates import certificates
from tests.support.fake_net import FakeNet, fake_net
from tests.support.scripted_broker import ScriptedBroker
from tests.support.scripted_dialing import ADDRESS, answering, dialer_to
from zkconsumer.net.negotiated import BrokerDialer

__all__ = ["certificates"]


@pytest.fixture
def broker() -> ScriptedBroker:
    """A broker of a current version."""
    return ScriptedBroker(ADDRESS, response=answering)


@pytest.fixture
def dialer(broker: ScriptedBroker) -> BrokerDialer:
    """A dialer to that broker."""
    return dialer_to(broker)


@pytest.fixture
def net() -> FakeNet:
    """A cluster of one broker with one topic."""
    net = fake_net()
    net.cluster.create_topic("t")
    return net
