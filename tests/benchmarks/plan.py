"""Defines the topics and the latency runs of each section."""

from dataclasses import dataclass

from tests.benchmarks.topics import TopicSpec
from zkconsumer.records.codecs import Codec

CORE_BYTES = 100
PARTITIONS = (1, 4)
OTHER_BYTES = (10, 1_000, 10_000)
CODECS = (Codec.SNAPPY, Codec.GZIP, Codec.LZ4)
SECTIONS = ("core", "sizes", "codecs", "latency", "rebalance")
DEFAULT_SECTIONS = SECTIONS[:-1]

_RECORDS = {10: 6_000_000, 100: 5_000_000, 1_000: 600_000, 10_000: 80_000}
_COMPRESSED_RECORDS = 3_000_000
_QUICK_PART = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyPlan:
    """A run with messages at a low rate.

    Attributes:
        partitions: the topic's partitions, which get messages in turn.
        rate: messages per second, over all partitions.
        messages: the number of messages in a run.
    """

    partitions: int
    rate: int = 1_000
    messages: int = 6_000


def topics(section: str, *, quick: bool) -> list[TopicSpec]:
    """Return the topics of a section; with ``quick`` smaller ones."""
    match section:
        case "core":
            shapes = [(CORE_BYTES, Codec.NONE, count) for count in PARTITIONS]
        case "sizes":
            shapes = [(size, Codec.NONE, count) for size in OTHER_BYTES for count in PARTITIONS]
        case "codecs":
            shapes = [(CORE_BYTES, codec, count) for codec in CODECS for count in PARTITIONS]
        case _:
            shapes = []
    return [_topic(size, codec, count, quick=quick) for size, codec, count in shapes]


def _topic(value_bytes: int, codec: Codec, partitions: int, *, quick: bool) -> TopicSpec:
    """Return a topic; one with a single partition gets half as many records, as it is no faster."""
    whole = _RECORDS[value_bytes] if codec is Codec.NONE else _COMPRESSED_RECORDS
    records = whole if partitions > 1 else whole // 2
    return TopicSpec(
        value_bytes=value_bytes,
        codec=codec,
        partitions=partitions,
        records=records // _QUICK_PART if quick else records,
    )


def spark_topics(*, quick: bool) -> list[TopicSpec]:
    """Return the topics that Spark reads."""
    return [
        _topic(CORE_BYTES, codec, count, quick=quick)
        for codec in (Codec.NONE, Codec.SNAPPY)
        for count in reversed(PARTITIONS)
    ]


def poll_topics(*, quick: bool) -> list[TopicSpec]:
    """Return the topics that members of coordinator groups read."""
    return [
        _topic(CORE_BYTES, codec, count, quick=quick)
        for codec in (Codec.NONE, Codec.LZ4, Codec.SNAPPY)
        for count in PARTITIONS
    ]


def latencies(section: str, *, quick: bool) -> list[LatencyPlan]:
    """Return the latency runs of a section."""
    if section != "latency":
        return []
    messages = 2_000 if quick else 6_000
    return [LatencyPlan(partitions=count, messages=messages) for count in PARTITIONS]
