"""Groups on brokers of 0.8: no members, but from 0.8.1 on offsets for assigned partitions."""

import pytest

from tests.support.coordinator_double import OF_0_8_0, OF_0_8_1, OF_0_8_2, CoordinatorDouble
from tests.support.group_commits import ONE, OTHER, at
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.errors import GroupFailed
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest


@pytest.mark.parametrize(
    ("versions", "version"), [(OF_0_8_2, 1), (OF_0_8_1, 0)], ids=["0.8.2", "0.8.1"]
)
def test_offsets_of_assigned_partitions(
    make: MakeMember, versions: dict[ApiKey, int], version: int
) -> None:
    """They are written and read without membership, in Kafka or by the broker in ZooKeeper."""
    broker = CoordinatorDouble({"t": 4}, versions=versions)
    member = make(broker)
    assert member.member.committed([ONE, OTHER], timeout_ms=5_000) == {ONE: None, OTHER: None}
    member.member.commit(at(7), timeout_ms=5_000)
    found = member.member.committed([ONE, OTHER], timeout_ms=5_000)
    assert found[ONE] == OffsetAndMetadata(7, "note")
    assert found[OTHER] is None
    requested = [
        number
        for request, number in broker.requested
        if isinstance(request, OffsetCommitRequest | OffsetFetchRequest)
    ]
    assert set(requested) == {version}
    assert {request.generation_id for request in broker.kinds(OffsetCommitRequest)} == {-1}


def test_a_broker_of_offsets_that_is_gone_is_replaced(make: MakeMember) -> None:
    """On 0.8.1 any broker can write offsets."""
    broker = CoordinatorDouble({"t": 4}, versions=OF_0_8_1)
    member = make(broker)
    member.member.commit(at(7), timeout_ms=5_000)
    broker.break_connections()
    member.member.commit(at(8), timeout_ms=5_000)
    assert broker.searches == 2


@pytest.mark.parametrize(
    "versions", [OF_0_8_2, OF_0_8_1, OF_0_8_0], ids=["0.8.2", "0.8.1", "0.8.0"]
)
def test_a_subscription_is_refused_with_the_alternative(
    make: MakeMember, versions: dict[ApiKey, int]
) -> None:
    """ZooKeeper groups with offsets in Kafka would continue at the group's offsets."""
    member = make(CoordinatorDouble({"t": 4}, versions=versions), "t")
    with pytest.raises(GroupFailed, match=r"zookeeper_connect, with offsets_storage='kafka'"):
        member.poll_until("never", lambda: False)


def test_a_subscription_after_a_commit_is_refused_as_well(make: MakeMember) -> None:
    """A broker that only stores offsets is not taken for a coordinator."""
    member = make(CoordinatorDouble({"t": 4}, versions=OF_0_8_1))
    member.member.commit(at(7), timeout_ms=5_000)
    member.subscribe("t")
    with pytest.raises(GroupFailed, match="offsets_storage"):
        member.poll_until("never", lambda: False)


def test_brokers_of_0_8_0_keep_no_offsets(make: MakeMember) -> None:
    """The error comes at once, as waiting would not help."""
    member = make(CoordinatorDouble({"t": 4}, versions=OF_0_8_0))
    for call in (
        lambda: member.member.committed([ONE], timeout_ms=5_000),
        lambda: member.member.commit(at(7), timeout_ms=5_000),
    ):
        with pytest.raises(GroupFailed, match=r"from Kafka 0\.8\.1 on.*leave group_id out"):
            call()
