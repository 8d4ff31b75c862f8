"""Converts the numbers of a connector to the original's MBeans and attributes. Pure.

Differences from the original:

- ``ConsumerLag`` and ``MaxLag`` count from the last message handed over; the original does not
  count messages in its queues, so ours are never smaller. As there, ``ConsumerLag`` is -1 until
  both offsets are known.
- ``BytesPerSec`` is not available by topic.
- The native engine reports the sums of its fetches once a second: so the percentiles of
  ``FetchRequestRateAndTimeMs`` and ``FetchResponseSize`` are those of means.
- The gauges of a partition or broker disappear with it (KAFKA-3632).

Source: Kafka 0.8.2.2, as JMX shows a running consumer of it: ``KafkaMetricsGroup``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from zkconsumer.connector.measuring.numbers import BrokerNumbers, ConnectorNumbers
from zkconsumer.connector.measuring.rates import Rates
from zkconsumer.connector.measuring.spread import SpreadView

MBean: TypeAlias = dict[str, float | str]
_Named: TypeAlias = Iterator[tuple[str, MBean]]

_QUANTILES = ("50", "75", "95", "98", "99", "999")


def mbeans(numbers: ConnectorNumbers) -> dict[str, MBean]:
    """Return the attributes of each MBean, by name; rates are per second, times in ms."""
    return dict(
        [
            *_connector(numbers),
            *_topics(numbers),
            *_fetching(numbers),
            *_partitions(numbers),
        ]
    )


def _connector(numbers: ConnectorNumbers) -> _Named:
    kind, client = "kafka.consumer:type=ZookeeperConsumerConnector", numbers.client_id
    yield (
        _name(kind, "KafkaCommitsPerSec", clientId=client),
        _meter(numbers.kafka_commits, "commits"),
    )
    yield (
        _name(kind, "ZooKeeperCommitsPerSec", clientId=client),
        _meter(numbers.zookeeper_commits, "commits"),
    )
    yield (
        _name(kind, "RebalanceRateAndTime", clientId=client),
        _timer(numbers.rebalances, numbers.rebalance_ms),
    )
    owned = Counter(tp.topic for tp in numbers.partitions)
    of_group = {"clientId": client, "groupId": numbers.group_id}
    yield _name(kind, "OwnedPartitionsCount", **of_group), {"Value": sum(owned.values())}
    for topic, count in sorted(owned.items()):
        yield _name(kind, "OwnedPartitionsCount", **of_group, topic=topic), {"Value": count}
    for queue in numbers.queues:
        for topic in queue.topics:
            tags = {"clientId": client, "topic": topic, "threadId": str(queue.thread)}
            yield _name(kind, "FetchQueueSize", **tags), {"Value": queue.chunks}


def _topics(numbers: ConnectorNumbers) -> _Named:
    kind, client = "kafka.consumer:type=ConsumerTopicMetrics", numbers.client_id
    yield _name(kind, "MessagesPerSec", clientId=client), _meter(numbers.messages, "messages")
    yield _name(kind, "BytesPerSec", clientId=client), _meter(numbers.fetched.size_bytes, "bytes")
    for topic, rates in numbers.messages_of.items():
        name = _name(kind, "MessagesPerSec", clientId=client, topic=topic)
        yield name, _meter(rates, "messages")


def _fetching(numbers: ConnectorNumbers) -> _Named:
    kind, client = "kafka.consumer:type=ConsumerFetcherManager", numbers.client_id
    yield _name(kind, "MaxLag", clientId=client), {"Value": numbers.max_lag}
    yield _name(kind, "MinFetchRate", clientId=client), {"Value": numbers.least_fetch_rate}
    yield from _responses(numbers.fetched, {"clientId": client})
    for broker, fetched in numbers.fetched_from.items():
        tags = {"clientId": client, "brokerHost": broker.host, "brokerPort": str(broker.port)}
        yield from _responses(fetched, tags)
        stats = "kafka.server:type=FetcherStats"
        yield _name(stats, "RequestsPerSec", **tags), _meter(fetched.fetches, "requests")
        yield _name(stats, "BytesPerSec", **tags), _meter(fetched.size_bytes, "bytes")


def _responses(fetched: BrokerNumbers, tags: Mapping[str, str]) -> _Named:
    kind = "kafka.consumer:type=FetchRequestAndResponseMetrics"
    yield (
        _name(kind, "FetchRequestRateAndTimeMs", **tags),
        _timer(fetched.fetches, fetched.took_ms),
    )
    yield _name(kind, "FetchResponseSize", **tags), _histogram(fetched.response_bytes)


def _partitions(numbers: ConnectorNumbers) -> _Named:
    kind, client = "kafka.server:type=FetcherLagMetrics", numbers.client_id
    for (topic, number), partition in sorted(numbers.partitions.items()):
        tags = {"clientId": client, "topic": topic, "partition": str(number)}
        yield (
            _name(kind, "ConsumerLag", **tags),
            {"Value": -1 if partition.lag is None else partition.lag},
        )


def _name(kind: str, name: str, **tags: str) -> str:
    """Return an MBean name as JMX writes it; tags without a value are omitted."""
    return ",".join([kind, f"name={name}", *(f"{key}={tags[key]}" for key in tags if tags[key])])


def _meter(rates: Rates, event: str) -> MBean:
    return {
        "Count": rates.events,
        "MeanRate": rates.mean,
        "OneMinuteRate": rates.one_minute,
        "FiveMinuteRate": rates.five_minutes,
        "FifteenMinuteRate": rates.fifteen_minutes,
        "RateUnit": "SECONDS",
        "EventType": event,
    }


def _histogram(spread: SpreadView) -> MBean:
    return {
        "Count": spread.values,
        "Min": spread.least,
        "Max": spread.most,
        "Mean": spread.mean,
        "StdDev": spread.deviation,
        **{
            f"{name}thPercentile": value
            for name, value in zip(_QUANTILES, spread.quantiles, strict=True)
        },
    }


def _timer(rates: Rates, spread: SpreadView) -> MBean:
    return {**_histogram(spread), **_meter(rates, "calls"), "LatencyUnit": "MILLISECONDS"}
