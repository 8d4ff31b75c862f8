"""The names and attributes of the original's MBeans."""

from pathlib import Path

from zkconsumer.connector.measuring.mbeans import mbeans
from zkconsumer.connector.measuring.numbers import (
    NO_FETCHES,
    ConnectorNumbers,
    PartitionNumbers,
    QueueNumbers,
)
from zkconsumer.connector.measuring.rates import Rates
from zkconsumer.connector.measuring.spread import SpreadView
from zkconsumer.model import Broker, TopicPartition

GOLDEN = Path(__file__).parents[3] / "golden/metrics/mbeans-0.8.2.2.txt"
NOT_OURS = "kafka.consumer:type=ConsumerTopicMetrics,name=BytesPerSec,clientId=cc,topic=t"

NUMBERS = ConnectorNumbers(
    group_id="gg",
    client_id="cc",
    consumer_id="gg_h-1",
    messages=Rates(7, 0.5, 1.0, 2.0, 3.0),
    messages_of={"t": Rates(7)},
    fetched_from={Broker(0, "b0", 9092): NO_FETCHES},
    rebalances=Rates(2),
    rebalance_ms=SpreadView(2, 300, 100, 200, 150, 70, (150, 200, 200, 200, 200, 200)),
    partitions={
        TopicPartition("t", 0): PartitionNumbers(10, 8, 25),
        TopicPartition("t", 1): PartitionNumbers(None, None, 9),
    },
    queues=(QueueNumbers("", ("t",), 0, 4, 1_000),),
)


def test_names_and_attributes_are_those_of_the_original() -> None:
    """All MBeans of a running console consumer exist, except for bytes by topic."""
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    original = {name: set(text.split()) for name, text in (line.split("\t") for line in lines)}
    assert original.pop(NOT_OURS)
    assert {name: set(bean) for name, bean in mbeans(NUMBERS).items()} == original


def test_each_attribute_has_its_value() -> None:
    """Each number appears under its attribute; an unknown lag is -1, as in the original."""
    found = mbeans(NUMBERS)

    def value(name: str) -> object:
        return found[name]["Value"]

    assert value("kafka.consumer:type=ConsumerFetcherManager,name=MaxLag,clientId=cc") == 15
    lag = "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=cc,topic=t,partition="
    assert (value(f"{lag}0"), value(f"{lag}1")) == (15, -1)
    kind = "kafka.consumer:type=ZookeeperConsumerConnector,name="
    assert value(f"{kind}FetchQueueSize,clientId=cc,topic=t,threadId=0") == 4
    assert value(f"{kind}OwnedPartitionsCount,clientId=cc,groupId=gg,topic=t") == 2
    rebalances = found[f"{kind}RebalanceRateAndTime,clientId=cc"]
    assert (rebalances["Count"], rebalances["Min"], rebalances["50thPercentile"]) == (2, 100, 150)
    messages = "kafka.consumer:type=ConsumerTopicMetrics,name=MessagesPerSec,clientId=cc"
    assert found[messages]["Count"] == 7
    assert found[messages]["FifteenMinuteRate"] == 3.0


def test_an_idle_connector_has_no_partition_or_broker_beans() -> None:
    """Before any partition is owned only the other MBeans exist, as in the original."""
    found = mbeans(ConnectorNumbers(group_id="g", client_id="c", consumer_id="g_1"))
    assert not [name for name in found if "partition=" in name or "brokerHost" in name]
    assert found["kafka.consumer:type=ConsumerFetcherManager,name=MinFetchRate,clientId=c"] == {
        "Value": 0.0
    }


def test_what_has_not_happened_is_zero() -> None:
    """No attribute is empty, since dashboards add and divide them."""
    found = mbeans(ConnectorNumbers(group_id="g", client_id="c", consumer_id="g_1"))
    texts = {"RateUnit", "EventType", "LatencyUnit"}
    values = {value for bean in found.values() for name, value in bean.items() if name not in texts}
    assert values == {0}
