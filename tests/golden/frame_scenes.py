"""The calls whose responses are captured, and the expected facts of the responses.

Broker 0 leads ``two-0`` and ``both-0``, follows in ``followed-0``, and has no replica of ``two-1``
and ``away-0``. ``small`` accepts only messages of a few bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.support import requests as send
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from zkconsumer.wire.messages.metadata import MetadataRequest

Fact = int | str | list[int]
ALL_0_8 = ("0.8.0", "0.8.1.1", "0.8.2.2")
FROM_0_8_1 = ("0.8.1.1", "0.8.2.2")
ONLY_0_8_2 = ("0.8.2.2",)
HERE, ELSEWHERE = TopicPartition("two", 0), TopicPartition("two", 1)
FOLLOWED = TopicPartition("followed", 0)
SMALL = TopicPartition("small", 0)
NOWHERE = TopicPartition("no-such-topic", 0)
BOTH = TopicPartition("both", 0)
RECORDS = [Record(0, b"key", b"value"), Record(0, None, "größer".encode()), Record(0, b"", None)]
SET = build_message_set(RECORDS)
ERROR = "topics[0].partitions[0].error_code"
GROUP = "golden"


@dataclass(frozen=True, slots=True)
class Call:
    """A request, the brokers that support it, and the expected values of its response by path."""

    name: str
    request: Request[Response]
    version: int
    facts: dict[str, Fact]
    brokers: Sequence[str] = ALL_0_8


def calls_before() -> Iterator[Call]:
    """Yield the requests to broker 0 while both brokers run."""
    yield from _metadata_calls()
    yield from _produce_calls()
    yield from _fetch_calls()
    yield from _list_calls()
    yield from _zookeeper_calls()


def calls_with_a_broker_down() -> Iterator[Call]:
    """Yield the requests to broker 0 after broker 1 has stopped."""
    facts: dict[str, Fact] = {
        "topics[0].topic": "away",
        ERROR: ErrorCode.LEADER_NOT_AVAILABLE,
        "topics[0].partitions[0].leader": -1,
        "topics[0].partitions[0].replicas": [],
        "topics[1].topic": "both",
        "topics[1].partitions[0].error_code": ErrorCode.REPLICA_NOT_AVAILABLE,
        "topics[1].partitions[0].leader": 0,
        "topics[1].partitions[0].replicas": [0],
        "topics[1].partitions[0].isr": [0],
    }
    request = MetadataRequest(topics=("away", "both"))
    yield Call("metadata without leader and without replica", request, 0, facts)


def calls_to_coordinator() -> Iterator[Call]:
    """Yield the requests to the group's coordinator."""
    missing: dict[str, Fact] = {
        "topics[0].partitions[0].offset": -1,
        "topics[0].partitions[0].metadata": "",
    }
    yield Call("nothing committed", send.fetch_offset(GROUP, BOTH), 1, {ERROR: 0, **missing})
    yield Call("commit", send.commit(GROUP, BOTH, 42, metadata="nöte"), 1, {ERROR: 0})
    yield Call(
        "committed",
        send.fetch_offset(GROUP, BOTH),
        1,
        {
            ERROR: 0,
            "topics[0].partitions[0].offset": 42,
            "topics[0].partitions[0].metadata": "nöte",
        },
    )
    yield Call(
        "metadata too large",
        send.commit(GROUP, BOTH, 42, metadata="x" * 5000),
        1,
        {ERROR: ErrorCode.OFFSET_METADATA_TOO_LARGE},
    )
    yield Call(
        "offset of a topic that is not there",
        send.fetch_offset(GROUP, NOWHERE),
        1,
        {ERROR: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, **missing},
    )


def calls_to_others() -> Iterator[Call]:
    """Yield the requests to a broker that is not the coordinator."""
    refused = {ERROR: int(ErrorCode.NOT_COORDINATOR)}
    yield Call("commit elsewhere", send.commit(GROUP, BOTH, 43), 1, {**refused})
    yield Call("offset elsewhere", send.fetch_offset(GROUP, BOTH), 1, {**refused})


def _metadata_calls() -> Iterator[Call]:
    yield Call(
        "metadata",
        MetadataRequest(topics=("both",)),
        0,
        {
            "topics[0].error_code": 0,
            "topics[0].topic": "both",
            ERROR: 0,
            "topics[0].partitions[0].leader": 0,
            "topics[0].partitions[0].replicas": [0, 1],
        },
    )
    created = {"topics[0].error_code": int(ErrorCode.LEADER_NOT_AVAILABLE)}
    request = MetadataRequest(topics=("created",))
    yield Call("metadata that creates a topic", request, 0, {**created}, FROM_0_8_1)
    illegal = {f"topics[{place}].error_code": int(ErrorCode.INVALID_TOPIC) for place in (0, 1)}
    request = MetadataRequest(topics=("no good", "both"))
    yield Call("metadata with an illegal name", request, 0, {**illegal}, ONLY_0_8_2)


def _produce_calls() -> Iterator[Call]:
    base_offset = "topics[0].partitions[0].base_offset"
    packed = build_message_set(RECORDS, codec=Codec.GZIP)
    corrupt = SET[:-1] + bytes([SET[-1] ^ 1])
    yield Call("produce", send.produce(HERE, SET), 0, {ERROR: 0, base_offset: 0})
    yield Call("produce more", send.produce(HERE, packed), 0, {ERROR: 0, base_offset: 3})
    for name, tp, data, code in (
        ("to a follower", FOLLOWED, SET, ErrorCode.NOT_LEADER_FOR_PARTITION),
        ("to a stranger", ELSEWHERE, SET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nowhere", NOWHERE, SET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a wrong checksum", HERE, corrupt, ErrorCode.CORRUPT_MESSAGE),
    ):
        yield Call(f"produce {name}", send.produce(tp, data), 0, {ERROR: code, base_offset: -1})
    too_large = {ERROR: int(ErrorCode.MESSAGE_TOO_LARGE), base_offset: -1}
    yield Call("produce too much", send.produce(SMALL, SET), 0, {**too_large}, FROM_0_8_1)


def _fetch_calls() -> Iterator[Call]:
    size, high = "topics[0].partitions[0].records", "topics[0].partitions[0].high_watermark"
    whole = len(SET) + len(build_message_set(RECORDS, codec=Codec.GZIP))
    yield Call("fetch", send.fetch(HERE, 0), 0, {ERROR: 0, high: 6})
    yield Call("fetch in mid-message", send.fetch(HERE, 0, max_bytes=40), 0, {ERROR: 0, size: 40})
    yield Call("fetch at the end", send.fetch(HERE, 6), 0, {ERROR: 0, size: 0, high: 6})
    for name, tp, offset, code in (
        ("fetch out of range", HERE, 7, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("fetch nowhere", NOWHERE, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("fetch from a follower", FOLLOWED, 0, ErrorCode.NOT_LEADER_FOR_PARTITION),
        ("fetch from a stranger", ELSEWHERE, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        yield Call(name, send.fetch(tp, offset), 0, {ERROR: code, high: -1, size: 0})
    yield Call("fetch of negative size", send.fetch(HERE, 0, max_bytes=-1), 0, {ERROR: -1})
    pair = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=tuple(
            FetchTopic(
                topic=topic,
                partitions=(FetchPartition(partition=0, fetch_offset=0, max_bytes=2 * whole),),
            )
            for topic in ("both", "two")
        ),
    )
    yield Call("fetch of two topics", pair, 0, {ERROR: 0, "topics[1].partitions[0].error_code": 0})


def _list_calls() -> Iterator[Call]:
    offsets = "topics[0].partitions[0].offsets"
    for name, timestamp, found in (
        ("earliest", EARLIEST_TIMESTAMP, [0]),
        ("latest", LATEST_TIMESTAMP, [6, 0]),
        ("long ago", 1_000, []),
    ):
        request = send.list_offsets(HERE, timestamp, max_offsets=5)
        yield Call(f"list offsets: {name}", request, 0, {ERROR: 0, offsets: found})
    for name, tp, code in (
        ("nowhere", NOWHERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("follower", FOLLOWED, ErrorCode.NOT_LEADER_FOR_PARTITION),
        ("stranger", ELSEWHERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        request = send.list_offsets(tp, LATEST_TIMESTAMP)
        yield Call(f"list offsets: {name}", request, 0, {ERROR: code, offsets: []})


def _zookeeper_calls() -> Iterator[Call]:
    offset = "topics[0].partitions[0].offset"
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for name, request, facts in (
        ("nothing in ZooKeeper", send.fetch_offset(GROUP, HERE), {ERROR: unknown, offset: -1}),
        ("commit to ZooKeeper", send.commit(GROUP, HERE, 5, metadata="lost"), {ERROR: 0}),
        ("committed to ZooKeeper", send.fetch_offset(GROUP, HERE), {ERROR: 0, offset: 5}),
        ("commit nowhere", send.commit(GROUP, NOWHERE, 5), {ERROR: unknown}),
    ):
        yield Call(
            name, request, 0, {path: int(value) for path, value in facts.items()}, FROM_0_8_1
        )
