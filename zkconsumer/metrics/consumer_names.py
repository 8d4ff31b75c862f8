"""The metrics of consumers, whose names follow the original's MBeans. Pure.

All have the labels ``group`` and ``client_id``; see ``consumer_numbers`` for consumers that share
them.

====================================  ==============================================
``zkconsumer_messages_total``         ``MessagesPerSec``
``zkconsumer_bytes_total``            ``BytesPerSec``
``zkconsumer_fetches_total``          ``RequestsPerSec``
``zkconsumer_lag``                    ``ConsumerLag``
``zkconsumer_max_lag``                ``MaxLag``
``zkconsumer_min_fetch_rate``         ``MinFetchRate``
``zkconsumer_owned_partitions``       ``OwnedPartitionsCount``
``zkconsumer_fetch_queue_bytes``      ``FetchQueueSize``, which counts chunks
``zkconsumer_rebalance_seconds``      ``RebalanceRateAndTime``
``zkconsumer_zookeeper_commits_total``  ``ZooKeeperCommitsPerSec``
``zkconsumer_kafka_commits_total``    ``KafkaCommitsPerSec``
====================================  ==============================================
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from zkconsumer.connector.measuring.numbers import REBALANCE_BOUNDS_MS
from zkconsumer.metrics.consumer_numbers import ConsumerNumbers, added_up
from zkconsumer.metrics.families import Family, Kind, Measure, Sample

_All: TypeAlias = Sequence[ConsumerNumbers]
_Find: TypeAlias = Callable[[_All], Iterator[Sample]]
_LABELS = ("group", "client_id")
_TOPIC_LABELS = (*_LABELS, "topic")


def consumer_families(numbers: Iterable[ConsumerNumbers]) -> Iterator[Family]:
    """Yield all metrics of these consumers.

    Args:
        numbers: the measures of each consumer; those of the same group and client id are summed.
    """
    found = added_up(numbers)
    for measure in CONSUMER_MEASURES:
        yield measure.of(found)


def _one(value: Callable[[ConsumerNumbers], float | None]) -> _Find:
    """Return a function that yields a sample for each consumer with a known value."""

    def find(numbers: _All) -> Iterator[Sample]:
        for consumer in numbers:
            known = value(consumer)
            if known is not None:
                yield Sample((consumer.group_id, consumer.client_id), known)

    return find


def _each(values: Callable[[ConsumerNumbers], Mapping[str, int]]) -> _Find:
    """Return a function that yields a sample for each topic, or storage, of each consumer."""

    def find(numbers: _All) -> Iterator[Sample]:
        for consumer in numbers:
            for name, value in sorted(values(consumer).items()):
                yield Sample((consumer.group_id, consumer.client_id, name), value)

    return find


def _lags(numbers: _All) -> Iterator[Sample]:
    for consumer in numbers:
        for (topic, number), lag in sorted(consumer.lags.items()):
            yield Sample((consumer.group_id, consumer.client_id, topic, str(number)), lag)


def _rebalance_seconds(numbers: _All) -> Iterator[Sample]:
    for consumer in numbers:
        labels, times = (consumer.group_id, consumer.client_id), consumer.rebalance_times
        if times is None:
            continue
        for bound_ms, count in zip(REBALANCE_BOUNDS_MS, times.within, strict=True):
            yield Sample((*labels, str(bound_ms / 1000)), count, "_bucket")
        yield Sample((*labels, "+Inf"), times.count, "_bucket")
        yield Sample(labels, times.count, "_count")
        yield Sample(labels, times.total_ms / 1000, "_sum")


def _measure(
    name: str, text: str, find: _Find, labels: tuple[str, ...] = _LABELS, kind: Kind = "gauge"
) -> Measure[_All]:
    if name.endswith("_total"):
        kind = "counter"
    return Measure(name=f"zkconsumer_{name}", text=text, labels=labels, find=find, kind=kind)


CONSUMER_MEASURES: tuple[Measure[_All], ...] = (
    _measure(
        "messages_total",
        "Messages delivered, by topic if the consumer counts them by topic.",
        _each(lambda numbers: numbers.messages),
        _TOPIC_LABELS,
    ),
    _measure(
        "bytes_total",
        "Bytes of record sets received from brokers.",
        _one(lambda numbers: numbers.received_bytes),
    ),
    _measure("fetches_total", "Fetch responses of brokers.", _one(lambda numbers: numbers.fetches)),
    _measure(
        "lag",
        "Number of offsets between the last delivered record and the end of the log.",
        _lags,
        (*_TOPIC_LABELS, "partition"),
    ),
    _measure(
        "max_lag",
        "The largest lag of any partition; 0 if none is known.",
        _one(lambda numbers: max(numbers.lags.values(), default=0)),
    ),
    _measure(
        "min_fetch_rate",
        "Fetch responses per second, over a minute, of the broker with the fewest; 0 if a broker "
        "is stuck, or there is none.",
        _one(lambda numbers: numbers.least_fetch_rate),
    ),
    _measure(
        "owned_partitions",
        "Number of partitions that are being read.",
        _each(lambda numbers: numbers.owned),
        _TOPIC_LABELS,
    ),
    _measure(
        "fetch_queue_bytes",
        "Memory of records that were fetched and not delivered yet.",
        _one(lambda numbers: numbers.queued_bytes),
    ),
    _measure(
        "rebalance_seconds",
        "The duration of rebalances, including failed attempts and pauses.",
        _rebalance_seconds,
        kind="histogram",
    ),
    _measure(
        "rebalances_total",
        "Completed rebalances.",
        _one(lambda numbers: numbers.rebalances),
    ),
    _measure(
        "rebalance_failures_total",
        "Failed attempts to rebalance.",
        _one(lambda numbers: numbers.failed_tries),
    ),
    _measure(
        "zookeeper_commits_total",
        "Offsets written to ZooKeeper.",
        _one(lambda numbers: numbers.commits.get("zookeeper")),
    ),
    _measure(
        "kafka_commits_total",
        "Offsets sent to Kafka, stored or not.",
        _one(lambda numbers: numbers.commits.get("kafka")),
    ),
    _measure(
        "commit_calls_total",
        "Number of commits (of KafkaConsumer, which does not count offsets).",
        _one(lambda numbers: numbers.commit_calls),
    ),
    _measure(
        "commit_failures_total",
        "Offsets that could not be committed.",
        _each(lambda numbers: numbers.failed_commits),
        (*_LABELS, "storage"),
    ),
    _measure(
        "lost_partitions_total",
        "Partitions that were lost without being revoked.",
        _one(lambda numbers: numbers.lost),
    ),
    _measure(
        "poisoned_messages_total",
        "Messages that could not be read.",
        _one(lambda numbers: numbers.poisoned),
    ),
    _measure(
        "orphan_partitions",
        "Partitions of its topics without an owner, at the last audit.",
        _one(lambda numbers: numbers.orphans),
    ),
    _measure(
        "delivery_paused",
        "Consumers that deliver nothing, because ZooKeeper has not responded for too long.",
        _one(lambda numbers: numbers.paused),
    ),
)
"""Every metric of a consumer."""
