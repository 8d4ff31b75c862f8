"""A network that loses one response of a real broker costs a short pause."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.members import Member
from tests.support.swallowing_gate import SwallowingGate
from tests.support.traffic import partitions_of, write
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer import ConsumerRecord, KafkaConsumer
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.tcp import TcpConnector, TcpTransport
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.api import ApiKey

pytestmark = pytest.mark.sandbox

IN_KAFKA = {"offsets_storage": "kafka", "dual_commit_enabled": False}


class LossyBroker(NamedTuple):
    """A broker behind a gate that can swallow responses."""

    cluster: Sandbox
    gate: SwallowingGate


@contextmanager
def gated(cluster: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[LossyBroker]:
    """Put a gate in front of the broker; all of our connections go through it."""
    (broker,) = cluster.brokers
    connect = TcpConnector.connect
    with SwallowingGate(broker.host, broker.port) as gate:

        def through(self: TcpConnector, host: str, port: int, *, timeout_ms: int) -> TcpTransport:
            port = gate.port if port == broker.port else port
            return connect(self, host, port, timeout_ms=timeout_ms)

        monkeypatch.setattr(TcpConnector, "connect", through)
        yield LossyBroker(cluster, gate)


@pytest.fixture
def lossy(broker_of: BrokerOf, monkeypatch: pytest.MonkeyPatch) -> Iterator[LossyBroker]:
    """Give a broker of 0.9.0.1, which serves groups of both kinds."""
    with gated(broker_of("0.9.0.1"), monkeypatch) as found:
        yield found


def values(name: str) -> list[bytes]:
    """Return three values to write."""
    return [b"%s %d" % (name.encode(), number) for number in range(3)]


def await_swallowed(lossy: LossyBroker, *kinds: ApiKey) -> None:
    """Wait until responses to these requests were swallowed, and forget them."""
    wait_until(lambda: sorted(lossy.gate.swallowed) == sorted(kinds), what=f"the loss of {kinds}")
    lossy.gate.swallowed.clear()


@pytest.mark.parametrize(
    ("kinds", "settings"),
    [
        ([ApiKey.METADATA], {}),
        ([ApiKey.LIST_OFFSETS], {}),
        ([ApiKey.FETCH], {}),
        ([ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.FETCH], {}),
        ([ApiKey.OFFSET_FETCH], IN_KAFKA),
        ([ApiKey.FIND_COORDINATOR], IN_KAFKA),
    ],
    ids=["metadata", "start", "fetch", "each", "offsets", "coordinator"],
)
def test_a_member_continues_after_a_lost_response(
    lossy: LossyBroker, kinds: list[ApiKey], settings: dict[str, object]
) -> None:
    """This holds for every kind of response, from its first request on."""
    topic, group = fresh_name("lossy"), fresh_name("group")
    lossy.cluster.create_topic(topic)
    (tp,) = partitions_of(topic, 1)
    write(lossy.cluster, tp, values("old"))
    for kind in kinds:
        lossy.gate.swallow_response(kind)
    began_ms = SystemClock().now_ms()
    with Member(lossy.cluster, group, {topic: 1}, **settings) as member:
        wait_until(lambda: len(member.values(tp)) == 3, what="what is there")
        assert SystemClock().now_ms() - began_ms < PROMPT_MS * len(kinds)
        await_swallowed(lossy, *kinds)
        lossy.gate.swallow_response(ApiKey.FETCH)
        await_swallowed(lossy, ApiKey.FETCH)
        began_ms = SystemClock().now_ms()
        write(lossy.cluster, tp, values("new"))
        wait_until(lambda: len(member.values(tp)) == 6, what="what came since")
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
        assert member.values(tp) == values("old") + values("new")


@pytest.mark.parametrize(
    "kind", [ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.FETCH], ids=["metadata", "start", "fetch"]
)
def test_a_polling_consumer_continues_after_a_lost_response(
    lossy: LossyBroker, kind: ApiKey
) -> None:
    """It has no group, so it sends no other requests."""
    topic = fresh_name("lossy")
    lossy.cluster.create_topic(topic)
    tp = TopicPartition(topic, 0)
    write(lossy.cluster, tp, values("old"))
    found: list[ConsumerRecord] = []
    lossy.gate.swallow_response(kind)
    began_ms = SystemClock().now_ms()
    with KafkaConsumer(
        bootstrap_servers=lossy.cluster.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([tp])

        def poll() -> bool:
            for records in consumer.poll(timeout_ms=200).values():
                found.extend(records)
            return len(found) >= 3

        wait_until(poll, what="what is there")
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
    await_swallowed(lossy, kind)
    assert [record.value for record in found] == values("old")


PROBE = [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT]
"""Both are sent together to learn a broker's versions: TCP can't lose the first response alone."""


@pytest.mark.parametrize("lost", [PROBE, PROBE[1:]], ids=["all", "the end"])
def test_a_lost_api_versions_response_is_requested_again(
    broker_of: BrokerOf, monkeypatch: pytest.MonkeyPatch, lost: list[ApiKey]
) -> None:
    """That holds for a client that only connects, and for a member of a group."""
    with gated(broker_of("3.9.1"), monkeypatch) as lossy:
        topic = fresh_name("lossy")
        lossy.cluster.create_topic(topic)
        (tp,) = partitions_of(topic, 1)
        write(lossy.cluster, tp, values("old"))
        (broker,) = lossy.cluster.brokers
        dialer = dialer_of(ClientSettings(client_id="test", timeout_ms=30_000))
        for kind in lost:
            lossy.gate.swallow_response(kind)
        began_ms = SystemClock().now_ms()
        dialer.dial(broker).close()
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
        await_swallowed(lossy, *lost)
        for kind in lost:
            lossy.gate.swallow_response(kind)
        began_ms = SystemClock().now_ms()
        with Member(lossy.cluster, fresh_name("group"), {topic: 1}) as member:
            wait_until(lambda: member.values(tp) == values("old"), what="what is there")
            assert SystemClock().now_ms() - began_ms < PROMPT_MS
        await_swallowed(lossy, *lost)
