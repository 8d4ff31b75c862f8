"""The measures of connectors and of ``KafkaConsumer`` in one form, and their sums. Pure.

Consumers of one process with the same group and client id are summed, as in the original, where
consumers with the same client id share meters.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import add
from typing import Any, Final

from zkconsumer.connector.measuring.numbers import REBALANCE_BOUNDS_MS, ConnectorNumbers
from zkconsumer.model import TopicPartition

_OF_PARTITION = "consumer-fetch-manager-metrics."


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceTimes:
    """The durations of rebalances.

    Attributes:
        count: the number of rebalances.
        total_ms: the sum of their durations.
        within: the number of rebalances within each of ``REBALANCE_BOUNDS_MS``.
    """

    count: int
    total_ms: float
    within: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerNumbers:
    """The measures of one consumer, or of several with the same names; see ``ConnectorNumbers``.

    Attributes:
        group_id: its group; "" for none.
        client_id: its client id.
        messages: the number of messages delivered to the caller, by topic; under "" if the topic is
            not known.
        received_bytes: the size of received record sets.
        fetches: the number of fetch responses.
        lags: the known lags, by partition.
        owned: the number of its partitions, by topic.
        queued_bytes: the size of records that were fetched and not delivered yet.
        rebalances: the number of completed rebalances.
        rebalance_times: their durations; None if unknown.
        failed_tries: the number of failed attempts to rebalance.
        commits: the number of committed offsets, by storage; for Kafka also those that failed.
        commit_calls: the number of commits; None if not counted.
        failed_commits: the number of offsets that could not be committed, by storage.
        lost: the number of partitions lost without being revoked.
        poisoned: the number of unreadable messages.
        orphans: the number of partitions of its topics without an owner.
        paused: the number of consumers whose delivery is paused, since ZooKeeper is silent.
        least_fetch_rate: the smallest rate of fetch responses of a broker; None if unknown.
    """

    group_id: str
    client_id: str
    messages: Mapping[str, int] = field(default_factory=dict)
    received_bytes: int = 0
    fetches: int = 0
    lags: Mapping[TopicPartition, int] = field(default_factory=dict)
    owned: Mapping[str, int] = field(default_factory=dict)
    queued_bytes: int = 0
    rebalances: int = 0
    rebalance_times: RebalanceTimes | None = None
    failed_tries: int = 0
    commits: Mapping[str, int] = field(default_factory=dict)
    commit_calls: int | None = None
    failed_commits: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    poisoned: int = 0
    orphans: int = 0
    paused: int = 0
    least_fetch_rate: float | None = None


def numbers_of_connector(numbers: ConnectorNumbers) -> ConsumerNumbers:
    """Return the measures of a connector."""
    lags = {tp: partition.lag for tp, partition in numbers.partitions.items()}
    spread = numbers.rebalance_ms
    return ConsumerNumbers(
        group_id=numbers.group_id,
        client_id=numbers.client_id,
        messages={topic: rates.events for topic, rates in numbers.messages_of.items()},
        received_bytes=numbers.fetched.size_bytes.events,
        fetches=numbers.fetched.fetches.events,
        lags={tp: lag for tp, lag in lags.items() if lag is not None},
        owned=Counter(tp.topic for tp in numbers.partitions),
        queued_bytes=sum(queue.size_bytes for queue in numbers.queues),
        rebalances=numbers.rebalances.events,
        rebalance_times=RebalanceTimes(
            count=spread.values, total_ms=spread.total, within=numbers.rebalances_within
        ),
        failed_tries=numbers.failed_tries,
        commits={
            "zookeeper": numbers.zookeeper_commits.events,
            "kafka": numbers.kafka_commits.events,
        },
        failed_commits=numbers.failed_commits,
        lost=numbers.lost,
        poisoned=numbers.poisoned,
        orphans=numbers.orphans,
        paused=int(numbers.paused),
        least_fetch_rate=numbers.least_fetch_rate,
    )


def numbers_of_poll(
    group_id: str, client_id: str, metrics: Mapping[str, Mapping[str, float]]
) -> ConsumerNumbers:
    """Return the measures of a ``KafkaConsumer`` from the result of its ``metrics``."""
    of_partition = {
        _partition(name.removeprefix(_OF_PARTITION)): numbers
        for name, numbers in metrics.items()
        if name.startswith(_OF_PARTITION)
    }
    fetching = metrics.get("consumer-fetch-manager-metrics", {})
    group = metrics.get("consumer-coordinator-metrics", {})
    queued = metrics.get("consumer-metrics", {}).get("buffered-bytes", 0)
    lags = {tp: numbers.get("records-lag") for tp, numbers in of_partition.items()}
    return ConsumerNumbers(
        group_id=group_id,
        client_id=client_id,
        messages={"": int(fetching.get("records-consumed-total", 0))},
        received_bytes=int(fetching.get("bytes-fetched-total", 0)),
        fetches=int(fetching.get("fetch-total", 0)),
        lags={tp: int(lag) for tp, lag in lags.items() if lag is not None},
        owned=Counter(tp.topic for tp in of_partition),
        queued_bytes=int(queued),
        rebalances=int(group.get("join-total", 0)),
        failed_tries=int(group.get("failed-rebalance-total", 0)),
        commit_calls=int(group.get("commit-total", 0)),
        lost=int(group.get("lost-total", 0)),
    )


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def added_up(numbers: Iterable[ConsumerNumbers]) -> list[ConsumerNumbers]:
    """Return the sums for each group and client id, sorted by these."""
    found: dict[tuple[str, str], ConsumerNumbers] = {}
    for consumer in numbers:
        key = (consumer.group_id, consumer.client_id)
        before = found.get(key)
        found[key] = consumer if before is None else _both(before, consumer)
    return [found[key] for key in sorted(found)]


def _both(numbers: ConsumerNumbers, other: ConsumerNumbers) -> ConsumerNumbers:
    """Combine each field of two consumers by its function in ``_COMBINED``, or by addition."""
    pairs = {
        field.name: (getattr(numbers, field.name), getattr(other, field.name))
        for field in fields(ConsumerNumbers)
    }
    return ConsumerNumbers(**{name: _combined(name, *pair) for name, pair in pairs.items()})


def _combined(name: str, value: Any, other: Any) -> Any:
    if value is None or other is None:
        return other if value is None else value
    sums: Callable[[Any, Any], Any] = _sums if isinstance(value, Mapping) else add
    return _COMBINED.get(name, sums)(value, other)


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}


def _largest(
    lags: Mapping[TopicPartition, int], other: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    return {tp: max(lags.get(tp, 0), other.get(tp, 0)) for tp in lags.keys() | other.keys()}


def _times(times: RebalanceTimes, other: RebalanceTimes) -> RebalanceTimes:
    assert len(times.within) == len(other.within) == len(REBALANCE_BOUNDS_MS)
    return RebalanceTimes(
        count=times.count + other.count,
        total_ms=times.total_ms + other.total_ms,
        within=tuple(map(add, times.within, other.within)),
    )


_COMBINED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "group_id": max,  # both are equal
    "client_id": max,
    "lags": _largest,  # while a partition changes owners, both may still report it
    "orphans": max,
    "least_fetch_rate": min,
    "rebalance_times": _times,
}
