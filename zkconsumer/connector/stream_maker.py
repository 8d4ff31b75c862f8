"""Creates the queues and streams of a connector."""

from collections.abc import Sequence
from typing import TypeVar

from zkconsumer.connector.assembly import ConnectorComponents
from zkconsumer.connector.measuring.measuring import MeasuredStream
from zkconsumer.model import ConsumerThreadId
from zkconsumer.printable import printable, shown
from zkconsumer.streams.delivery import CommitAhead, Delivery
from zkconsumer.streams.message import Decoder
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue
from zkconsumer.streams.stream import KafkaStream

K = TypeVar("K")
V = TypeVar("V")


class StreamMaker:
    """Creates the queues and streams of one connector."""

    def __init__(self, parts: ConnectorComponents, commit_ahead: CommitAhead) -> None:
        self._parts = parts
        self._config = parts.context.config
        self._commit_ahead = commit_ahead

    def new_queues(self, count: int) -> tuple[StreamQueue, ...]:
        """Return `count` empty queues that share the connector's byte budget."""
        max_chunks, budget = self._config.queued_max_message_chunks, self._parts.budget
        return tuple(new_chunk_queue(max_chunks, budget) for _ in range(count))

    def new_streams(
        self,
        queues: Sequence[StreamQueue],
        topic: str | None,
        key_decoder: Decoder[K] | None,
        value_decoder: Decoder[V] | None,
    ) -> list[KafkaStream[K, V]]:
        """Return a stream for each queue, in the order of the consumer threads.

        Args:
            queues: the queues of one topic, or of a filter.
            topic: the topic; None for a filter.
            key_decoder: see ``MessageAndMetadata``.
            value_decoder: the same.
        """
        parts, streams = self._parts, list[KafkaStream[K, V]]()
        for number, queue in enumerate(queues):
            stream = KafkaStream(
                queue,
                clock=parts.context.clock,
                timeout_ms=self._config.consumer_timeout_ms,
                key_decoder=key_decoder,
                value_decoder=value_decoder,
                gate=parts.context.gate,
                delivery=Delivery(self._config.delivery),
                commit_ahead=self._commit_ahead,
                poison=parts.poison,
                name=self._name(topic, number),
            )
            counts = stream.delivered_counts
            parts.measuring.add_stream(MeasuredStream(topic, number, queue, counts))
            streams.append(stream)
        return streams

    def _name(self, topic: str | None, number: int) -> str:
        of = "a filter" if topic is None else shown(topic)
        thread = ConsumerThreadId(self._parts.context.name.consumer_id, number)
        return f"{printable(str(thread))} group_id={shown(self._config.group_id)}, topic={of}"
