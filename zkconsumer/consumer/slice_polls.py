"""A ``KafkaConsumer`` that forwards records without creating an object for each."""

from collections.abc import Collection, Mapping
from functools import partial

from zkconsumer.cluster.cluster_client import TimedOffset
from zkconsumer.consumer.arguments import timeout_of
from zkconsumer.consumer.closing import public_call
from zkconsumer.consumer.handing_out import Starts, confirm_or_put_back, deliver
from zkconsumer.consumer.iteration import Slices, starts_of
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.fetch.core.starts import LATEST
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.slices import RecordSlice


class SliceConsumer(KafkaConsumer):
    """Polls slices instead of records; used by this project only, not part of the public API.

    Args:
        kept_codec: the codec whose whole batches are kept compressed, to be forwarded as they are.
    """

    def __init__(self, config: Mapping[str, object], *, kept_codec: Codec = Codec.NONE) -> None:
        super().__init__(config=config)
        self._parts.engine.keep(kept_codec)

    def poll_slices(self, timeout_ms: float, max_records: int) -> dict[TopicPartition, RecordSlice]:
        """Poll like ``poll``, but return slices instead of records; raises as ``poll``.

        Args:
            timeout_ms: how long to wait, in ms, if nothing was fetched yet.
            max_records: the maximum number of records to return.

        Returns:
            One slice, of at least one record, for each partition with records.
        """
        parts = self._parts
        session = parts.session

        def run(starts: Starts) -> dict[TopicPartition, RecordSlice]:
            session.positions.put_back_all(session.buffer.positions())

            def made(slices: Slices) -> dict[TopicPartition, RecordSlice]:
                starts.update(starts_of(slices))
                return dict(slices)

            def take() -> dict[TopicPartition, RecordSlice]:
                taken = parts.engine.collect_as(max_records, made, session.collectable())
                return taken if confirm_or_put_back(parts, starts) else {}

            return parts.loop.run(
                timeout_of(timeout_ms, 0), partial(session.positions.taking, starts, take)
            )

        return deliver(parts, run, dict)

    @public_call
    def known_end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, int]:
        """Return the ``end_offsets`` of the partitions whose leaders respond in time.

        Raises:
            ZkConsumerError: an error of ``end_offsets`` that does not concern a single partition.
        """
        responses = self._responses(dict.fromkeys(partitions, int(LATEST)), timeout_ms)
        return {
            tp: response.offset
            for tp, response in responses.items()
            if isinstance(response, TimedOffset)
        }
