"""The target of a mirror: which partitions its topics have, as far as the mirror knows."""

from collections.abc import Iterator

import pytest

from tests.fakes.fake_script import Raw
from tests.fakes.loopback import LoopbackServer
from tests.support.fake_net import FakeNet, fake_net
from tests.support.manual_clock import ManualClock
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.mirror.settings import MirrorSettings, target_settings
from zkconsumer.mirror.target import MAX_AGE_MS, Target
from zkconsumer.wire.api import ApiKey


@pytest.fixture
def net() -> Iterator[FakeNet]:
    """A broker with a topic of two partitions."""
    net = fake_net()
    net.cluster.create_topic("t", 2)
    with LoopbackServer() as server:
        net.brokers.listen_on_loopback(server)
        yield net


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def target(net: FakeNet, clock: ManualClock) -> Iterator[Target]:
    """The target of a mirror at that broker."""
    broker = net.brokers[0].address
    settings = MirrorSettings(
        topics=Whitelist("t"),
        consumers=({},),
        target=target_settings({"retry.backoff.ms": "1"}, f"{broker.host}:{broker.port}"),
    )
    target = Target(settings, lambda _: None, clock=clock)
    yield target
    target.close()


def test_partitions_that_are_added_later_are_used(
    net: FakeNet, clock: ManualClock, target: Target
) -> None:
    """They are known once the metadata is old, as the Java producer knows them."""
    assert target.partitions("t", 1) == (0, 1)
    net.cluster.create_topic("t", 4)
    assert target.partitions("t", 1) == (0, 1)
    clock.advance(MAX_AGE_MS)
    assert target.partitions("t", 1) == (0, 1, 2, 3)


def test_known_partitions_are_kept_if_they_cannot_be_looked_up(
    net: FakeNet, clock: ManualClock, target: Target
) -> None:
    """A topic without metadata, or a target that is away, is left to the producer's retries."""
    assert target.partitions("t", 1) == (0, 1)
    net.cluster.delete_topic("t")
    clock.advance(MAX_AGE_MS)
    assert target.partitions("t", 1) == (0, 1)
    target.stop()
    clock.advance(MAX_AGE_MS)
    assert target.partitions("t", 1) == (0, 1)


def test_a_response_that_makes_no_sense_does_not_end_a_mirror_that_knows_the_partitions(
    net: FakeNet, clock: ManualClock, target: Target
) -> None:
    """The lookup is a precaution: what is wrong with the target, the producer reports."""
    assert target.partitions("t", 1) == (0, 1)
    clock.advance(MAX_AGE_MS)
    net.brokers[0].script(ApiKey.METADATA, *[Raw(b"\0\0\0\4\xff\xff\xff\xff")] * 20)
    assert target.partitions("t", 1) == (0, 1)
