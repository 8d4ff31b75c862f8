"""What a view says of some topics; and that it does not go back behind what was known."""

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


def seen(
    leader: int,
    epoch: int,
    *,
    topic_id: bytes = ID,
    brokers: tuple[MetadataBroker, ...] = (ONE, TWO),
) -> ClusterView:
    """A view of one partition."""
    partition = PartitionMetadata(
        error_code=0, partition=0, leader=leader, leader_epoch=epoch, replicas=(), isr=()
    )
    topic = TopicMetadata(error_code=0, topic="t", topic_id=topic_id, partitions=(partition,))
    return from_metadata(MetadataResponse(brokers=brokers, topics=(topic,)), version=12)


def test_what_newer_brokers_tell() -> None:
    """Partitions ascending, epochs, ids, what is internal, and who leads the cluster."""
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
            cluster_id="cluster",
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
    assert (view.cluster_id, view.controller_id) == ("cluster", 1)


def test_what_old_brokers_do_not_tell() -> None:
    """It is missing, not a number that means nothing."""
    view = seen(1, -1, topic_id=bytes(16))
    assert view.leader_epochs == {}
    assert view.topic_ids == {}
    assert (view.cluster_id, view.controller_id) == (None, None)


def test_limited_to_some_topics() -> None:
    """As if they had been asked for by name: what does not exist has an error."""
    view = replace(seen(1, 3), errors={"bad": 17, "worse": 29})
    limited = limited_to(view, ["bad", "none"])
    assert limited.errors == {"bad": 17, "none": 3}
    assert (limited.leaders, limited.partitions, limited.leader_epochs) == ({}, {}, {})
    assert limited.brokers == view.brokers
    assert limited_to(view, ["t"]) == replace(view, errors={})


def test_an_older_epoch_does_not_win() -> None:
    """The broker that was asked had not heard of the new leader yet."""
    known = seen(2, 7)
    assert kept_current(known, seen(1, 6)) == known
    assert kept_current(known, seen(1, 7)) == seen(1, 7)
    assert kept_current(known, seen(1, 8)) == seen(1, 8)


def test_a_leader_that_is_gone_is_none() -> None:
    """What was known stays, but a broker that is not there can't be asked."""
    kept = kept_current(seen(2, 7), seen(1, 6, brokers=(ONE,)))
    assert kept.leaders == {}
    assert kept.leaderless == {T0: 5}
    assert kept.leader_epochs == {T0: 7}


def test_a_leader_that_moved_to_another_address() -> None:
    """Brokers are where the newer view says."""
    moved = MetadataBroker(id=2, host="new", port=3)
    kept = kept_current(seen(2, 7), seen(1, 6, brokers=(ONE, moved)))
    assert kept.leaders == {T0: Broker(2, "new", 3)}


def test_a_topic_that_was_made_again_starts_anew() -> None:
    """Its epochs begin at 0: so also where nobody can tell whether it was."""
    assert kept_current(seen(2, 7), seen(1, 0, topic_id=OTHER_ID)).leaders == {T0: AT_1}
    untold = bytes(16)
    assert kept_current(seen(2, 7, topic_id=untold), seen(1, 0, topic_id=untold)).leaders == {
        T0: AT_1
    }
    assert kept_current(seen(2, 7), seen(2, 0, topic_id=untold)).leaders == {T0: AT_2}


@pytest.mark.parametrize(("version", "named"), [(7, {}), (8, {}), (9, {T0: 3}), (12, {T0: 3})])
def test_epochs_that_brokers_may_not_have_heard_of_are_not_named(
    version: int, named: dict[TopicPartition, int]
) -> None:
    """Before 2.4: leaders refuse who names one that a reassignment under way made an old one."""
    partition = PartitionMetadata(
        error_code=0, partition=0, leader=1, leader_epoch=3, replicas=(), isr=()
    )
    topic = TopicMetadata(error_code=0, topic="t", topic_id=ID, partitions=(partition,))
    view = from_metadata(MetadataResponse(brokers=(ONE,), topics=(topic,)), version=version)
    assert view.leader_epochs == {T0: 3}
    assert view.named_epochs == named
    assert limited_to(view, {"t"}).named_epochs == named
