"""The offsets of a stream as Spark keeps them in its checkpoint. Pure.

They have the form of Spark's Kafka source, ``{"topic":{"0":12}}``, so that people and tools can
read them. One thing is added to the end of the very first batch: where that batch starts. Spark
does not keep it, and asks again when the query is started anew before the batch was done; by then
"latest" is somewhere else, and the messages between would be lost. Another is added to each: when
the topics were created, as far as that is known, so that one that is created again is not read on.

Source: Spark 4.2 ``KafkaSourceOffset``; its ``KafkaSourceInitialOffsetWriter`` keeps the start in a
file of the checkpoint, whose path a source in Python does not get.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.offset_json import from_json, to_json

START_KEY = "@start"
"""No topic can have this name."""

CREATED_KEY = "@created"
"""Nor this one."""


@dataclass(frozen=True, slots=True)
class StreamOffsets:
    """The end of a batch, or the start of the next one.

    Attributes:
        offsets: the next offset to read of each partition.
        begun_at: where the batch that ends here started; only the first one says so.
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
            ConfigError: it is something else: the checkpoint is another query's.
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
            {str(topic): str(one) for topic, one in created.items()},
        )
