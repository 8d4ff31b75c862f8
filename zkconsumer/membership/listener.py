"""The base class of the caller's rebalance listeners, for either consumer.

Source: Kafka ``ConsumerRebalanceListener`` (KIP-429), and that of ``kafka.javaapi.consumer`` 0.9.0.
"""

from collections.abc import Collection, Mapping

from zkconsumer.model import ConsumerThreadId, TopicPartition


class ConsumerRebalanceListener:
    """Base class of listeners for either consumer; override the methods that you need.

    ``KafkaConsumer`` calls those that begin with ``on``, from ``poll``, ``unsubscribe`` and
    ``close``, in the caller's thread; they may commit, seek, pause and read positions, but must
    not poll or close. ``ZookeeperConsumerConnector`` calls the other two, in its control thread
    (see ``ReleaseListener``).

    Source: Kafka ``ConsumerRebalanceListener`` (KIP-429), and that of ``kafka.javaapi.consumer``.

    Example:
        >>> class Saving(ConsumerRebalanceListener):
        ...     def on_partitions_revoked(self, revoked):
        ...         print("give up", sorted(revoked))
        >>> Saving().on_partitions_lost([TopicPartition("t", 0)])
        give up [TopicPartition(topic='t', partition=0)]
    """

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Prepare to hand partitions over to others; they are still ours, commits are accepted.

        With ``enable_auto_commit``, the records handed out from them are committed already.

        Args:
            revoked: the partitions, without those that stay.

        Thread: the caller's, in ``poll``, ``unsubscribe`` or ``close``.
        Source: Kafka ``ConsumerRebalanceListener.onPartitionsRevoked``.
        """

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Prepare for new partitions before their first record is handed out; may ``seek``.

        Args:
            assigned: the partitions, without those owned before. May be empty.

        Thread: the caller's, in ``poll``, ``unsubscribe`` or ``close``.
        Source: Kafka ``ConsumerRebalanceListener.onPartitionsAssigned``.
        """

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Handle partitions that were lost, and may have other owners: commits are refused.

        Calls ``on_partitions_revoked`` by default.

        Args:
            lost: the partitions.

        Thread: the caller's, in ``poll``, ``unsubscribe`` or ``close``.
        Source: Kafka ``ConsumerRebalanceListener.onPartitionsLost``.
        """
        self.on_partitions_revoked(lost)

    def before_releasing_partitions(self, ownership: Mapping[str, frozenset[int]]) -> None:
        """Prepare for partitions being released; see ``ReleaseListener``.

        Args:
            ownership: the partitions to be released, by topic.

        Thread: the connector's own.
        """

    def before_starting_fetchers(
        self,
        consumer_id: str,
        global_assignment: Mapping[str, Mapping[int, ConsumerThreadId]],
    ) -> None:
        """Prepare for the new assignment, before any of it is read; see ``ReleaseListener``.

        Args:
            consumer_id: the id of this member.
            global_assignment: the consumer thread that reads each partition of the whole group, by
                topic and partition number.

        Thread: the connector's own.
        """
