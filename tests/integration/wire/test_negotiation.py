"""Brokers of every release are identified by probes, at once and without side effects."""

from contextlib import closing

import pytest

from tests.golden.capture_negotiated import VERSIONS
from tests.support.clusters import BrokerOf
from tests.support.matrix import in_matrix
from tests.support.negotiating import TIMEOUT_MS, negotiate
from tests.support.raw_connections import raw_connection
from tests.support.waiting import PROMPT_MS
from zkconsumer.clock import SystemClock
from zkconsumer.model import Broker
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.old_probes import OLD_PROBES
from zkconsumer.wire.probes import FIRST_PROBE, SECOND_PROBE
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

GENERATIONS = {
    "0.8.0": (BrokerGeneration.V0_8_0, 6),
    "0.8.1.1": (BrokerGeneration.V0_8_1, 5),
    "0.8.2.2": (BrokerGeneration.V0_8_2, 4),
    "0.9.0.1": (BrokerGeneration.V0_9, 1),
}
"""The generation of each release without ApiVersions, and how many probes identify it."""

NEWEST_FETCH = {"0.10.2.2": 3, "0.11.0.3": 5, "1.1.1": 7, "2.8.2": 12, "3.9.1": 13}
NEWEST_PRODUCE = {"0.9.0.1": 1, "0.10.2.2": 2, "0.11.0.3": 3, "1.1.1": 5, "2.8.2": 9, "3.9.1": 9}


@pytest.mark.sandbox
@in_matrix("kafka", [*GENERATIONS, *VERSIONS[1:]], [*GENERATIONS, "0.10.2.2", "3.9.1"])
def test_negotiation(broker_of: BrokerOf, kafka: str) -> None:
    """The release is identified at once, and no topic was created by that."""
    (broker,) = broker_of(kafka).brokers
    before = topics_of(broker)
    clock = SystemClock()
    start_ms = clock.now_ms()
    found, requested = negotiate(
        lambda: TcpConnector().connect(broker.host, broker.port, timeout_ms=TIMEOUT_MS)
    )
    assert clock.now_ms() - start_ms < PROMPT_MS
    if kafka in GENERATIONS:
        probes = (FIRST_PROBE, SECOND_PROBE, *OLD_PROBES)
        generation, count = GENERATIONS[kafka]
        assert found.generation is generation
        assert requested == [(probe.request.API.key, probe.version) for probe in probes[:count]]
    else:
        assert found.generation is None
        assert found.version_for(ApiKey.FETCH) == NEWEST_FETCH[kafka]
        assert found.common[ApiKey.HEARTBEAT].first == 0
    assert found.common[ApiKey.METADATA].first == 0
    assert found.common.get(ApiKey.PRODUCE) == VersionRange(0, NEWEST_PRODUCE.get(kafka, 0))
    assert topics_of(broker) == before


def topics_of(broker: Broker) -> set[str]:
    """Return all topics of a broker."""
    every = MetadataRequest(topics=())
    with closing(raw_connection(broker, timeout_ms=TIMEOUT_MS)) as connection:
        metadata = connection.request(every, version=0, timeout_ms=TIMEOUT_MS)
    return {topic.topic for topic in metadata.topics}
