"""The outcome of each record set, and whether a retry may help."""

import pytest

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    BrokerError,
    ConnectionLost,
    LocalProtocolError,
    RemoteProtocolError,
    UnsupportedCodec,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.produce.exchange import concerns_records, is_retriable, outcomes_of, produce_request
from zkconsumer.wire.messages.produce import (
    ProducedPartition,
    ProducedTopic,
    ProduceResponse,
    RefusedRecord,
)

LEADER = Broker(1, "b1", 9092)
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
CODEC_LACKS = UnsupportedCodec("lz4", offset=-1, position=0, next_offset=None)


def test_a_request_names_each_topic_once() -> None:
    """The partitions keep their order."""
    request = produce_request({A1: b"1", B0: b"2", A0: b"3"}, acks=-1, timeout_ms=5)
    sent = [
        (
            topic.topic,
            [(partition.partition, bytes(partition.records)) for partition in topic.partitions],
        )
        for topic in request.topics
    ]
    assert sent == [("a", [(1, b"1"), (0, b"3")]), ("b", [(0, b"2")])]
    assert (request.acks, request.timeout_ms, request.transactional_id) == (-1, 5, None)


def test_each_set_has_its_outcome() -> None:
    """It is an offset, a refusal with the broker's text, or a missing response."""
    refused = ProducedPartition(
        partition=1,
        error_code=ErrorCode.INVALID_RECORD,
        base_offset=-1,
        error_message="rejected",
        record_errors=(
            RefusedRecord(batch_index=0, batch_index_error_message="needs a key"),
            RefusedRecord(batch_index=3, batch_index_error_message="needs a key"),
            RefusedRecord(batch_index=4),
        ),
    )
    responses = (
        ProducedPartition(partition=0, error_code=0, base_offset=7),
        refused,
        ProducedPartition(partition=9, error_code=0, base_offset=1),
    )
    response = ProduceResponse(topics=(ProducedTopic(topic="a", partitions=responses),))
    outcomes = outcomes_of(LEADER, {A0: b"", A1: b"", B0: b""}, response)
    assert list(outcomes) == [A0, A1, B0]
    assert outcomes[A0] == 7
    refusal = outcomes[A1]
    assert isinstance(refusal, BrokerError)
    assert refusal.topic_partition == A1
    assert str(refusal) == (
        "broker 1 (b1:9092) refused a set for a-1: INVALID_RECORD (87): rejected; needs a key"
    )
    assert isinstance(outcomes[B0], RemoteProtocolError)


@pytest.mark.parametrize("code", ErrorCode)
def test_retriable_codes_are_retried(code: ErrorCode) -> None:
    """Retriable codes are retried; sizes and single records are handled by sending smaller sets."""
    error = BrokerError(code, "Produce", "no")
    assert is_retriable(error) == code.retriable
    of_records = {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.CORRUPT_MESSAGE,
    }
    assert concerns_records(error) == (code in of_records)


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (ConnectionLost("x"), True),
        (RemoteProtocolError("x"), True),
        (LocalProtocolError("x"), False),
        (UnsupportedVersion("x"), False),
        (AuthenticationFailed("x"), False),
        (CODEC_LACKS, False),
    ],
)
def test_transport_failures_are_retried(error: ZkConsumerError, retried: bool) -> None:
    """Our own mistakes and final decisions are not retried."""
    assert is_retriable(error) is retried
    assert concerns_records(error) == isinstance(error, LocalProtocolError)
