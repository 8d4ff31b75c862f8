"""Connections that negotiate versions with a broker, even if its version changes."""

import pytest

from tests.support.scripted_broker import (
    MODERN,
    ScriptedAction,
    ScriptedBroker,
    ScriptedResponse,
    Serves,
)
from tests.support.scripted_dialing import (
    ADDRESS,
    LONG_MS,
    REQUEST,
    answering,
    dialer_to,
    version_sent,
)
from zkconsumer.errors import (
    ConnectFailed,
    ConnectionLost,
    UnsupportedVersion,
)
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

KAFKA_0_10_2: Serves = {
    **MODERN,
    ApiKey.API_VERSIONS: VersionRange(0, 0),
    ApiKey.METADATA: VersionRange(0, 2),
}


# --- Negotiation ----------------------------------------------------------------------------------


def test_a_modern_broker_is_asked_for_versions_on_the_same_connection(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """One connection is enough; the newest common version within the call's limits is sent."""
    connection = dialer.dial(ADDRESS)
    assert broker.accepted == 1
    assert connection.versions.generation is None
    assert version_sent(broker, connection) == MetadataRequest.API.last
    connection.call(REQUEST, timeout_ms=LONG_MS, at_most=4)
    assert broker.requested(ApiKey.METADATA)[-1].version == 4
    with pytest.raises(UnsupportedVersion, match=r"broker -1 \(b:9092\).*METADATA from version 13"):
        connection.call(REQUEST, timeout_ms=LONG_MS, at_least=13)
    assert connection.is_idle
    connection.close()


def test_a_broker_of_0_10_refuses_the_newest_api_versions_once(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """The refusal has the supported version, with which later connections ask at once."""
    broker.serves = KAFKA_0_10_2
    first = dialer.dial(ADDRESS)
    assert version_sent(broker, first) == 2
    assert broker.accepted == 2
    second = dialer.dial(ADDRESS)
    assert broker.accepted == 3
    first.close()
    second.close()


def test_a_broker_whose_version_is_known_is_not_asked(broker: ScriptedBroker) -> None:
    """The first bytes of the first connection are the request itself, in the known version."""
    assumed = of_generation(BrokerGeneration.V0_8_0)
    dialer = dialer_to(broker, assumed=assumed)
    for broker_dialer in (dialer, dialer.sibling()):
        connection = broker_dialer.dial(ADDRESS)
        assert connection.versions is assumed
        assert version_sent(broker, connection) == 0
        connection.close()
    assert broker.accepted == 2
    assert not broker.requested(ApiKey.API_VERSIONS)


def test_a_transport_without_a_descriptor_is_not_delegated(dialer: BrokerDialer) -> None:
    """Such transports are a network in memory, or TLS."""
    connection = dialer.dial(ADDRESS)
    assert not connection.has_descriptor
    connection.close()


@pytest.mark.parametrize(
    ("generation", "connects"),
    [
        (BrokerGeneration.V0_9, 2),
        # ApiVersions twice, one probe per release, ApiVersions again, and the one that is used.
        (BrokerGeneration.V0_8_2, 6),
        (BrokerGeneration.V0_8_1, 7),
        (BrokerGeneration.V0_8_0, 8),
    ],
)
def test_an_old_broker_is_probed_once(
    broker: ScriptedBroker,
    dialer: BrokerDialer,
    generation: BrokerGeneration,
    connects: int,
) -> None:
    """The generation is remembered for later connections while a connection is open."""
    broker.become(generation)
    first = dialer.dial(ADDRESS)
    assert first.versions.generation is generation
    assert broker.accepted == connects
    assert version_sent(broker, first) == 0
    second = dialer.dial(ADDRESS)
    assert second.versions.generation is generation
    assert broker.accepted == connects + 1
    first.close()
    second.close()


def test_an_old_broker_that_stops_is_not_taken_for_an_older_one(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """A modern broker that closes connections while it stops is asked for versions in the end."""
    broken = 4

    def stopping(frame: RequestFrame) -> ScriptedResponse | None:
        nonlocal broken
        if broken and frame.api_key is not ApiKey.METADATA:
            broken -= 1
            return ScriptedAction.CLOSE
        return answering(frame)

    broker.response = stopping
    broker.serves = KAFKA_0_10_2
    connection = dialer.dial(ADDRESS)
    assert connection.versions.generation is None
    assert version_sent(broker, connection) == 2
    connection.close()


# --- Changed versions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BrokerGeneration.V0_8_2, None),
        (BrokerGeneration.V0_9, BrokerGeneration.V0_8_2),
        (None, BrokerGeneration.V0_8_2),
        (None, BrokerGeneration.V0_9),
    ],
)
def test_a_broker_that_returns_with_another_version_is_probed_again(
    broker: ScriptedBroker,
    dialer: BrokerDialer,
    before: BrokerGeneration | None,
    after: BrokerGeneration | None,
) -> None:
    """A lost connection invalidates the known versions, even if another one has not noticed yet."""
    broker.become(before)
    first, second = dialer.dial(ADDRESS), dialer.dial(ADDRESS)
    assert first.versions.generation is before
    broker.become(after)
    with pytest.raises(ConnectionLost):
        first.call(REQUEST, timeout_ms=LONG_MS)
    again = dialer.dial(ADDRESS)
    assert again.versions.generation is after
    # The other connection has the former versions: its end changes nothing now.
    with pytest.raises(ConnectionLost):
        second.call(REQUEST, timeout_ms=LONG_MS)
    accepted = broker.accepted
    third = dialer.dial(ADDRESS)
    assert third.versions.generation is after
    assert broker.accepted == accepted + 1
    again.close()
    third.close()


def test_the_known_versions_are_forgotten_with_the_last_connection(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """Nobody would notice that the broker's version changed, so versions are negotiated again."""
    broker.become(BrokerGeneration.V0_8_2)
    first, second = dialer.dial(ADDRESS), dialer.dial(ADDRESS)
    first.close()
    first.close()
    accepted = broker.accepted
    third = dialer.dial(ADDRESS)
    assert broker.accepted == accepted + 1
    second.close()
    third.close()
    broker.generation, broker.serves = None, MODERN
    with_modern = dialer.dial(ADDRESS)
    assert with_modern.versions.generation is None
    with_modern.close()


def test_a_failed_connect_invalidates_the_known_versions(
    broker: ScriptedBroker, dialer: BrokerDialer
) -> None:
    """This is so even if an older connection still seems to be open."""
    broker.become(BrokerGeneration.V0_8_2)
    stale = dialer.dial(ADDRESS)
    broker.down = True
    with pytest.raises(ConnectFailed):
        dialer.dial(ADDRESS)
    broker.down = False
    broker.generation, broker.serves = None, MODERN
    connection = dialer.dial(ADDRESS)
    assert connection.versions.generation is None
    connection.close()
    stale.close()
