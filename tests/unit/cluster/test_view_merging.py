"""Restricting a view to some topics, and merging it without going back to older epochs."""

from dataclasses import replace

import pytest

from zkconsumer.cluster.view import ClusterView, from_metadata, kept_current, limited_to
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.messages.metadata import (
    MetadataBroker,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)

ONE, TWO = MetadataBroker(id=1, host="h1", port=1), MetadataBroker(id=2, host="h2", port=2)
AT_1, AT_2 = Broker(1, "h1", 1), Broker(2, "h2", 2)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ID, OTHER_ID = b"a" * 16, b"b" * 16


def view_with(
    leader: int,
    epoch: int,
    *,
    topic_id: bytes = ID,
    brokers: tuple[MetadataBroker, ...] = (ONE, TWO),
) -> ClusterView:
    """Build a view of one partition."""
    partition = PartitionMetadata(
        error_code=0, partition=0, leader=leader, leader_epoch=epoch, replicas=(), isr=()
    )
    topic = TopicMetadata(error_code=0, topic="t", topic_id=topic_id, partitions=(partition,))
    return from_metadata(MetadataResponse(brokers=brokers, topics=(topic,)), version=12)


def test_a_view_of_a_new_broker_has_epochs_ids_and_controller() -> None:
    """A view holds sorted partitions, epochs, topic ids, internal topics and the controller."""
    partitions = tuple(
        PartitionMetadata(
            error_code=0,
            partition=broker_id,
            leader=1,
            leader_epoch=broker_id + 5,
            replicas=(),
            isr=(),
        )
        for broker_id in (1, 0)
    )
    view = from_metadata(
        MetadataResponse(
            brokers=(ONE,),
            controller_id=1,
            topics=(
                TopicMetadata(error_code=0, topic="t", topic_id=ID, partitions=partitions),
                TopicMetadata(error_code=3, topic="gone", partitions=()),
                TopicMetadata(error_code=0, topic="__own", is_internal=True, partitions=()),
            ),
        ),
        version=12,
    )
    assert view.partitions == {"t": (0, 1)}
    assert view.leader_epochs == {T0: 5, T1: 6}
    assert view.internal == {"__own"}
    assert view.topic_ids == {"t": ID}
    assert view.controller_id == 1


def test_fields_that_an_old_broker_lacks_are_left_out() -> None:
    """Epochs, ids and the controller are missing, not filled with a placeholder."""
    view = view_with(1, -1, topic_id=bytes(16))
    assert view.leader_epochs == {}
    assert view.topic_ids == {}
    assert view.controller_id is None


def test_a_limited_view_looks_as_if_requested_by_name() -> None:
    """A topic that does not exist has an error, as if it had been requested by name."""
    view = replace(view_with(1, 3), errors={"bad": 17, "worse": 29})
    limited = limited_to(view, ["bad", "none"])
    assert limited.errors == {"bad": 17, "none": 3}
    assert (limited.leaders, limited.partitions, limited.leader_epochs) == ({}, {}, {})
    assert limited.brokers == view.brokers
    assert limited_to(view, ["t"]) == replace(view, errors={})


def test_an_older_leader_epoch_does_not_win() -> None:
    """A broker that does not know the new leader yet does not overwrite it."""
    known = view_with(2, 7)
    assert kept_current(known, view_with(1, 6)) == known
    assert kept_current(known, view_with(1, 7)) == view_with(1, 7)
    assert kept_current(known, view_with(1, 8)) == view_with(1, 8)


def test_a_known_leader_that_is_not_live_is_dropped() -> None:
    """The known epoch stays, but a broker that is not live cannot lead."""
    kept = kept_current(view_with(2, 7), view_with(1, 6, brokers=(ONE,)))
    assert kept.leaders == {}
    assert kept.leaderless == {T0: 5}
    assert kept.leader_epochs == {T0: 7}


def test_addresses_come_from_the_newer_view() -> None:
    """The leader stays, with the address that the newer view gives its broker."""
    moved = MetadataBroker(id=2, host="new", port=3)
    kept = kept_current(view_with(2, 7), view_with(1, 6, brokers=(ONE, moved)))
    assert kept.leaders == {T0: Broker(2, "new", 3)}


def test_a_recreated_topic_starts_over() -> None:
    """A topic whose id changed, or is unknown, starts over, since its epochs begin at 0."""
    assert kept_current(view_with(2, 7), view_with(1, 0, topic_id=OTHER_ID)).leaders == {T0: AT_1}
    unknown = bytes(16)
    assert kept_current(
        view_with(2, 7, topic_id=unknown), view_with(1, 0, topic_id=unknown)
    ).leaders == {T0: AT_1}
    assert kept_current(view_with(2, 7), view_with(2, 0, topic_id=unknown)).leaders == {T0: AT_2}


@pytest.mark.parametrize(("version", "named"), [(7, {}), (8, {}), (9, {T0: 3}), (12, {T0: 3})])
def test_leader_epochs_are_sent_only_from_recent_enough_metadata(
    version: int, named: dict[TopicPartition, int]
) -> None:
    """Epochs of metadata before 2.4 are kept but not sent in requests.

    During a reassignment a leader would refuse such an epoch as an old one.
    """
    partition = PartitionMetadata(
        error_code=0, partition=0, leader=1, leader_epoch=3, replicas=(), isr=()
    )
    topic = TopicMetadata(error_code=0, topic="t", topic_id=ID, partitions=(partition,))
    view = from_metadata(MetadataResponse(brokers=(ONE,), topics=(topic,)), version=version)
    assert view.leader_epochs == {T0: 3}
    assert view.named_epochs == named
    assert limited_to(view, {"t"}).named_epochs == named
