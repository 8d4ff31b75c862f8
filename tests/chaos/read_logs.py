"""The partitions' logs, read from their leaders without a consumer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.support.plain_connections import plain_client, plain_dialer
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.records.decode import decode_record_set
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_TIMEOUT_MS = 10_000
_FETCH_BYTES = 1 << 20
_MAX_DECOMPRESSED_BYTES = 1 << 26
_DEBUGGING_ID = -2


@dataclass(slots=True)
class Logs:
    """The contents of logs.

    Attributes:
        positions: partition and offset of every value.
        ends: the offset behind the last message of each partition.
    """

    positions: dict[str, tuple[TopicPartition, int]] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)


def replica_ends(broker: Broker, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the end offsets of a broker's replicas, followers included; none if it is silent.

    Source: Kafka 0.8.2.2 ``KafkaApis.handleOffsetRequest`` for ``Request.DebuggingConsumerId``.
    """
    request = ListOffsetsRequest(
        replica_id=_DEBUGGING_ID,
        topics=tuple(
            ListOffsetsTopic(
                topic=tp.topic,
                partitions=(ListOffsetsPartition(partition=tp.partition, timestamp=-1),),
            )
            for tp in partitions
        ),
    )
    try:
        connection = plain_dialer(TcpConnector(), timeout_ms=_TIMEOUT_MS).dial(broker)
    except TransportError:
        return {}
    try:
        response = connection.call(request, timeout_ms=_TIMEOUT_MS)
    except TransportError:
        return {}
    finally:
        connection.close()
    return {
        TopicPartition(topic.topic, partition.partition): partition.offsets[0]
        for topic in response.topics
        for partition in topic.partitions
        if partition.offsets
    }


def read_logs(cluster: Sandbox, partitions: Sequence[TopicPartition]) -> Logs:
    """Read the partitions from the first message to the high watermark.

    Raises:
        AssertionError: a leader refused, or its response makes no sense.
    """
    dialer = plain_dialer(TcpConnector(), timeout_ms=_TIMEOUT_MS)
    client = plain_client(dialer, timeout_ms=_TIMEOUT_MS)

    def read(tp: TopicPartition) -> Logs | None:
        leader = client.view_by(cluster.brokers, [tp.topic]).leaders.get(tp)
        if leader is None:
            return None
        connection = dialer.dial(leader)
        try:
            return _read(connection, tp)
        finally:
            connection.close()

    logs = Logs()
    for tp in partitions:
        log = wait_until(partial(read, tp), what=f"a leader of {tp}")
        assert log is not None
        twice = [
            (value, logs.positions[value]) for value in log.positions if value in logs.positions
        ]
        assert not twice, f"in {tp}, too: {twice}"
        logs.positions |= log.positions
        logs.ends |= log.ends
    return logs


def _read(connection: NegotiatedConnection, tp: TopicPartition) -> Logs | None:
    """Read one partition; return None if the controller has moved its leader."""
    logs, offset = Logs(), 0
    while True:
        requested = FetchPartition(
            partition=tp.partition, fetch_offset=offset, max_bytes=_FETCH_BYTES
        )
        request = FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            topics=(FetchTopic(topic=tp.topic, partitions=(requested,)),),
        )
        response = connection.call(request, timeout_ms=_TIMEOUT_MS)
        fetched = response.topics[0].partitions[0]
        if fetched.error_code == ErrorCode.NOT_LEADER_FOR_PARTITION:
            return None
        assert fetched.error_code == 0, f"{tp}: error {fetched.error_code}"
        if offset >= fetched.high_watermark:
            logs.ends[tp] = offset
            return logs
        decoded = decode_record_set(
            fetched.records, fetch_offset=offset, max_decompressed_bytes=_MAX_DECOMPRESSED_BYTES
        )
        assert decoded.error is None, f"{tp}: {decoded.error}"
        for record in decoded.records:
            value = (record.value or b"").decode()
            assert value not in logs.positions, (
                f"{value} lies at {logs.positions[value]} and {tp} too"
            )
            logs.positions[value] = (tp, record.offset)
        assert decoded.next_offset > offset, f"{tp}: nothing at {offset}"
        offset = decoded.next_offset
