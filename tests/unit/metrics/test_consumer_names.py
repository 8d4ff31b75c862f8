"""The metrics of consumers."""

from tests.support.metered import T0, T1, samples_of, value
from zkconsumer.connector.measuring.numbers import (
    BrokerNumbers,
    ConnectorNumbers,
    PartitionNumbers,
    QueueNumbers,
)
from zkconsumer.connector.measuring.rates import Rates
from zkconsumer.connector.measuring.spread import SpreadView
from zkconsumer.metrics.consumer_names import CONSUMER_MEASURES, consumer_families
from zkconsumer.metrics.consumer_numbers import (
    ConsumerNumbers,
    numbers_of_connector,
    numbers_of_poll,
)

CONNECTOR = ConnectorNumbers(
    group_id="g",
    client_id="c",
    consumer_id="g_1",
    messages=Rates(12),
    messages_of={"t": Rates(7), "u": Rates(5)},
    fetched=BrokerNumbers(Rates(9), Rates(4_000)),
    least_fetch_rate=2.5,
    rebalances=Rates(3),
    rebalance_ms=SpreadView(3, 6_200),
    rebalances_within=(1, 1, 1, 2, 2, 2, 3, 3, 3, 3),
    failed_tries=4,
    zookeeper_commits=Rates(20),
    kafka_commits=Rates(0),
    failed_commits={"zookeeper": 2},
    lost=1,
    poisoned=6,
    orphans=2,
    paused=True,
    partitions={T0: PartitionNumbers(10, 8, 25), T1: PartitionNumbers(None, None, None)},
    queues=(QueueNumbers("t", ("t",), 0, 1, 300), QueueNumbers("t", ("t",), 1, 0, 40)),
)
POLL = {
    "consumer-metrics": {"buffered-bytes": 500},
    "consumer-coordinator-metrics": {"join-total": 2, "commit-total": 8, "lost-total": 3},
    "consumer-fetch-manager-metrics": {
        "fetch-total": 11,
        "bytes-fetched-total": 9_000,
        "records-consumed-total": 70,
        "records-lag-max": 4,
    },
    "consumer-fetch-manager-metrics.a-b-0": {"records-lag": 4, "position": 9},
    "consumer-fetch-manager-metrics.a-b-1": {"position": 9},
}


def test_the_metrics_of_a_connector_are_named_like_its_mbeans() -> None:
    """Each has the group and the client id as labels."""
    seen = samples_of(consumer_families([numbers_of_connector(CONNECTOR)]))

    def of(name: str, **labels: str) -> float:
        return value(seen, f"zkconsumer_{name}", group="g", client_id="c", **labels)

    assert (of("messages_total", topic="t"), of("messages_total", topic="u")) == (7, 5)
    assert (of("bytes_total"), of("fetches_total"), of("min_fetch_rate")) == (4_000, 9, 2.5)
    assert (of("lag", topic="t", partition="0"), of("max_lag")) == (15, 15)
    assert len(seen["zkconsumer_lag"]) == 1
    assert (of("owned_partitions", topic="t"), of("fetch_queue_bytes")) == (2, 340)
    assert (of("rebalances_total"), of("rebalance_failures_total")) == (3, 4)
    assert (of("zookeeper_commits_total"), of("kafka_commits_total")) == (20, 0)
    assert of("commit_failures_total", storage="zookeeper") == 2
    assert (of("lost_partitions_total"), of("poisoned_messages_total")) == (1, 6)
    assert (of("orphan_partitions"), of("delivery_paused")) == (2, 1)
    assert (of("rebalance_seconds_count"), of("rebalance_seconds_sum")) == (3, 6.2)
    buckets = {le: of("rebalance_seconds_bucket", le=le) for le in ("0.1", "1.0", "10.0", "+Inf")}
    assert buckets == {"0.1": 1, "1.0": 2, "10.0": 3, "+Inf": 3}


def test_a_poll_consumer_has_the_metrics_that_it_reports() -> None:
    """Topic names may have dashes; what the consumer does not report has no samples."""
    seen = samples_of(consumer_families([numbers_of_poll("g", "c", POLL)]))
    of = {"group": "g", "client_id": "c"}
    assert value(seen, "zkconsumer_messages_total", **of, topic="") == 70
    assert value(seen, "zkconsumer_lag", **of, topic="a-b", partition="0") == 4
    assert len(seen["zkconsumer_lag"]) == 1
    assert value(seen, "zkconsumer_owned_partitions", **of, topic="a-b") == 2
    assert value(seen, "zkconsumer_fetch_queue_bytes", **of) == 500
    assert value(seen, "zkconsumer_commit_calls_total", **of) == 8
    assert value(seen, "zkconsumer_bytes_total", **of) == 9_000
    for missing in ("zookeeper_commits_total", "rebalance_seconds_count", "min_fetch_rate"):
        assert not seen.get(f"zkconsumer_{missing}")


def test_consumers_of_the_same_name_are_merged() -> None:
    """As in the original, which shares its meters; other labels would change at each start."""
    connector = numbers_of_connector(CONNECTOR)
    other = ConsumerNumbers(
        group_id="g", client_id="c", lags={T0: 99, T1: 1}, least_fetch_rate=1.5, orphans=1
    )
    seen = samples_of(
        consumer_families([connector, other, connector, numbers_of_poll("", "c", {})])
    )
    of = {"group": "g", "client_id": "c"}
    assert value(seen, "zkconsumer_messages_total", **of, topic="t") == 14
    assert value(seen, "zkconsumer_lag", **of, topic="t", partition="0") == 99
    assert value(seen, "zkconsumer_min_fetch_rate", **of) == 1.5
    assert value(seen, "zkconsumer_orphan_partitions", **of) == 2
    assert value(seen, "zkconsumer_rebalance_seconds_count", **of) == 6
    assert value(seen, "zkconsumer_rebalance_seconds_bucket", **of, le="0.1") == 2
    assert len(seen["zkconsumer_bytes_total"]) == 2


def test_names_follow_prometheus_conventions() -> None:
    """Counters end in ``_total``, other metrics do not, and no name appears twice."""
    names = [measure.name for measure in CONSUMER_MEASURES]
    assert len(set(names)) == len(names)
    for measure in CONSUMER_MEASURES:
        assert measure.name.endswith("_total") == (measure.kind == "counter")
        assert measure.text.endswith(".")
        assert measure.labels[:2] == ("group", "client_id")
