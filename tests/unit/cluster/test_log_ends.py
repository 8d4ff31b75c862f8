"""Where logs end."""

import pytest

from tests.support.fake_net import SHORT_MS, FakeNet, fake_net
from zkconsumer.cluster.log_ends import LogEndReader
from zkconsumer.cluster.offset_times import EARLIEST, LATEST
from zkconsumer.model import Record, TopicPartition
from zkconsumer.testing.fake_script import Fail, Hang
from zkconsumer.wire.api import ApiKey

LONG_MS = 30_000
TPS = [TopicPartition("t", number) for number in range(3)]


@pytest.fixture
def net() -> FakeNet:
    """Three partitions on three brokers, holding the records 1 to 10, 20 and 30."""
    net = fake_net(3)
    net.cluster.create_topic("t", partitions=3)
    for tp in TPS:
        net.cluster.append(tp, [Record(0, None, b"x")] * (10 * (tp.partition + 1)))
        net.cluster.log(tp).delete_before(1)
    return net


def read(net: FakeNet, time: int = LATEST, timeout_ms: int = SHORT_MS) -> dict[TopicPartition, int]:
    """Ask the leaders of all three."""
    leaders = {tp: net.brokers[tp.partition].address for tp in TPS}
    return LogEndReader(net.connector.open, timeout_ms=timeout_ms).read(leaders, time)


def test_every_leader_is_asked(net: FakeNet) -> None:
    """Ends and starts come from the leaders of each partition."""
    assert read(net, LATEST, LONG_MS) == dict(zip(TPS, (10, 20, 30), strict=True))
    assert read(net, EARLIEST, LONG_MS) == dict.fromkeys(TPS, 1)


def test_what_cannot_be_told_is_left_out(net: FakeNet) -> None:
    """Brokers that are down or hang, and partitions with errors, are missing from the answer."""
    net.brokers[0].stop()
    net.brokers[1].script(ApiKey.LIST_OFFSETS, Hang())
    assert read(net) == {TPS[2]: 30}
    net.brokers[2].script(ApiKey.LIST_OFFSETS, Fail(6))
    assert read(net) == {TPS[1]: 20}
