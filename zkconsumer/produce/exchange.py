"""Builds Produce requests, and reads the outcome of each set in their responses. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
    UnsupportedCodec,
    ZkConsumerError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.messages.produce import (
    ProducedPartition,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)

ExchangeOutcome = int | ZkConsumerError
"""The base offset of a written set, or why it was not, or may not have been, written."""

_OF_RECORDS = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.CORRUPT_MESSAGE,
    }
)
"""Errors with which a broker refuses a whole set because of a single record."""
_NO_KEY = "perhaps a record has no key, and the topic is compacted"


def produce_request(
    sets: Mapping[TopicPartition, bytes], *, acks: int, timeout_ms: int
) -> ProduceRequest:
    """Return a request with these sets, all for partitions that one broker leads."""
    by_topic: dict[str, list[ProducePartition]] = defaultdict(list)
    for tp, data in sets.items():
        by_topic[tp.topic].append(ProducePartition(partition=tp.partition, records=data))
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topics=tuple(
            ProduceTopic(topic=topic, partitions=tuple(partitions))
            for topic, partitions in by_topic.items()
        ),
    )


def outcomes_of(
    leader: Broker, sets: Collection[TopicPartition], response: ProduceResponse
) -> dict[TopicPartition, ExchangeOutcome]:
    """Return the outcome of each set; a set that is missing from the response has failed."""
    outcomes: dict[TopicPartition, ExchangeOutcome] = {
        tp: RemoteProtocolError(f"{leader}: its response does not include {tp}") for tp in sets
    }
    for topic in response.topics:
        for produced in topic.partitions:
            tp = TopicPartition(topic.topic, produced.partition)
            if tp in sets:
                refused = produced.error_code != ErrorCode.NONE
                outcomes[tp] = _refusal(leader, tp, produced) if refused else produced.base_offset
    return outcomes


def concerns_records(error: ZkConsumerError) -> bool:
    """Return whether a set was refused for its size or content: a smaller one may be accepted.

    For a single record this means that the partition will never accept it. (Corruption in transit
    does not last; an error that recurs at every attempt has another cause: brokers before 2.4
    report it for a record without a key in a compacted topic.)
    """
    if isinstance(error, BrokerError):
        return error.code in _OF_RECORDS
    return isinstance(error, LocalProtocolError)


def is_retriable(error: ZkConsumerError) -> bool:
    """Return whether the same set may be accepted later."""
    if isinstance(error, BrokerError):
        return ErrorCode.of(error.code).retriable
    # A broker that sends invalid responses may be shutting down.
    return isinstance(error, TransportError | RemoteProtocolError) and not isinstance(
        error, UnsupportedCodec
    )


def _refusal(leader: Broker, tp: TopicPartition, produced: ProducedPartition) -> BrokerError:
    reported = [refused.batch_index_error_message for refused in produced.record_errors]
    words = [produced.error_message, *reported]
    if produced.error_code == ErrorCode.CORRUPT_MESSAGE:
        words.append(_NO_KEY)
    # The message of a whole batch often repeats those of its records.
    message = "; ".join(dict.fromkeys(word for word in words if word))
    code = error_name(produced.error_code)
    return BrokerError(
        produced.error_code,
        "Produce",
        f"{leader} refused a set for {tp}: {code}{': ' if message else ''}{message}",
        tp,
    )
