"""Leaders and errors from a metadata response."""

from zkconsumer.cluster.view import from_metadata
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.messages.metadata import (
    MetadataBroker,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)


def partition(number: int, leader: int, error_code: int = 0) -> PartitionMetadata:
    """Build the metadata of a partition with this leader."""
    return PartitionMetadata(
        error_code=error_code, partition=number, leader=leader, replicas=(), isr=()
    )


def test_a_view_holds_leaders_leaderless_partitions_and_errors() -> None:
    """Leaders, partitions without one, and topics with an error all have their place.

    Ids may have gaps and come in any order; a dead replica (error 9) does not unseat a leader; a
    leader that is not among the live brokers is as good as none.
    """
    view = from_metadata(
        MetadataResponse(
            brokers=(
                MetadataBroker(id=7, host="h7", port=1),
                MetadataBroker(id=2, host="h2", port=2),
            ),
            topics=(
                TopicMetadata(
                    error_code=0,
                    topic="t",
                    partitions=(
                        partition(9, 7),
                        partition(0, 2, error_code=9),
                        partition(4, -1, error_code=5),
                        partition(5, 3),
                    ),
                ),
                TopicMetadata(error_code=3, topic="gone", partitions=()),
            ),
        ),
        version=0,
    )
    assert view.brokers == {7: Broker(7, "h7", 1), 2: Broker(2, "h2", 2)}
    assert view.leaders == {
        TopicPartition("t", 9): Broker(7, "h7", 1),
        TopicPartition("t", 0): Broker(2, "h2", 2),
    }
    assert view.leaderless == {TopicPartition("t", 4): 5, TopicPartition("t", 5): 0}
    assert view.errors == {"gone": 3}
