"""Encodes the offsets of a stream for Spark's checkpoint. Pure.

They have the form of Spark's Kafka source, ``{"topic":{"0":12}}``, so that people and tools can
read them. The end of the very first batch also holds the start of that batch. Spark does not keep
the start, and requests it again if the query is restarted before the batch is complete; by then
"latest" has moved, and the messages in between would be lost. Each end also holds the creations of
the topics, as far as known, so that reading does not continue in a recreated topic.

Source: Spark 4.2 ``KafkaSourceOffset``; its ``KafkaSourceInitialOffsetWriter`` keeps the start in a
file of the checkpoint, whose path Python data sources do not get.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.offset_json import from_json, to_json

START_KEY = "@start"
"""A key that no topic can have as its name."""

CREATED_KEY = "@created"
"""Another key that no topic can have as its name."""


@dataclass(frozen=True, slots=True)
class StreamOffsets:
    """The end of a batch, or the start of the next one.

    Attributes:
        offsets: the next offset to read of each partition.
        begun_at: the start of the batch that ends here; only in the first batch.
        created: the creation of each topic, which identifies it among topics of its name, if known.
    """

    offsets: Mapping[TopicPartition, int]
    begun_at: Mapping[TopicPartition, int] | None = None
    created: Creations = field(default_factory=dict, compare=False)

    def to_json(self) -> dict[str, object]:
        """Serialize the offsets for Spark's checkpoint."""
        found: dict[str, object] = {**to_json(self.offsets)}
        if self.begun_at is not None:
            found[START_KEY] = to_json(self.begun_at)
        if self.created:
            found[CREATED_KEY] = dict(sorted(self.created.items()))
        return found

    @staticmethod
    def from_json(value: Mapping[str, object]) -> "StreamOffsets":
        """Parse the JSON of ``to_json``.

        Raises:
            ConfigError: the value is malformed: the checkpoint belongs to another query.
        """
        offsets = from_json(
            {key: it for key, it in value.items() if key not in {START_KEY, CREATED_KEY}},
            what="checkpoint",
        )
        begun_at, created = value.get(START_KEY), value.get(CREATED_KEY, {})
        if not isinstance(created, Mapping):
            raise ConfigError(f"checkpoint: {CREATED_KEY} is {created!r}, which is no object")
        return StreamOffsets(
            offsets,
            None if begun_at is None else from_json(begun_at, what="checkpoint"),
            {str(topic): str(creation) for topic, creation in created.items()},
        )
