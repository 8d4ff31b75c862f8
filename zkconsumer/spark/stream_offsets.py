"""The offsets of a stream as Spark keeps them in its checkpoint. Pure.

They have the form of Spark's Kafka source, ``{"topic":{"0":12}}``, so that people and tools can
read them. One thing is added to the end of the very first batch: where that batch starts. Spark
does not keep it, and asks again when the query is started anew before the batch was done; by then
"latest" is somewhere else, and the messages between would be lost.

Source: Spark 4.2 ``KafkaSourceOffset``; its ``KafkaSourceInitialOffsetWriter`` keeps the start in a
file of the checkpoint, of whose place a source in Python does not hear.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.spark.offset_json import from_json, to_json

START_KEY = "@start"
"""No topic can have this name."""


@dataclass(frozen=True, slots=True)
class StreamOffsets:
    """The end of a batch, or the start of the next one.

    Attributes:
        offsets: the next offset to read of each partition.
        begun_at: where the batch that ends here started; only the first one says so.
    """

    offsets: Mapping[TopicPartition, int]
    begun_at: Mapping[TopicPartition, int] | None = None

    def to_json(self) -> dict[str, object]:
        """What Spark writes into the checkpoint."""
        if self.begun_at is None:
            return {**to_json(self.offsets)}
        return {**to_json(self.offsets), START_KEY: to_json(self.begun_at)}

    @staticmethod
    def from_json(value: Mapping[str, object]) -> "StreamOffsets":
        """Take apart what ``to_json`` made.

        Raises:
            ConfigError: it is something else: the checkpoint is another query's.
        """
        offsets = from_json(
            {key: of_topic for key, of_topic in value.items() if key != START_KEY},
            what="checkpoint",
        )
        begun_at = value.get(START_KEY)
        if begun_at is None:
            return StreamOffsets(offsets)
        return StreamOffsets(offsets, from_json(begun_at, what="checkpoint"))
