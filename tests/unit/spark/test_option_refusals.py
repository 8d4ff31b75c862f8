"""Which options of a query are refused, and how the error names them."""

from collections.abc import Mapping

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.options import source_options

BASE = {"subscribe": "t", "kafka.bootstrap.servers": "h:9092"}
ZOOKEEPER = {"subscribe": "t", "zookeeper.connect": "z:2181/kafka"}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("failOnDataLoss", "yes", "true or false"),
        ("includeHeaders", "1", "true or false"),
        ("allowLiveGroup", "", "true or false"),
        ("maxOffsetsPerTrigger", "0", "at least 1"),
        ("maxOffsetsPerTrigger", "ten", "at least 1"),
        ("maxOffsetsPerTrigger", "1e3", "at least 1"),
        ("maxOffsetsPerTrigger", "9223372036854775808", "at least 1"),
        ("minOffsetsPerTrigger", "-1", "at least 0"),
        ("maxTriggerDelay", "soon", "15m"),
        ("maxTriggerDelay", "-1s", "15m"),
        ("maxTriggerDelay", "3 weeks", "15m"),
        ("maxTriggerDelay", "99999999999999999d", "64 bits"),
        ("minPartitions", "0", "at least 1"),
        ("minPartitions", "2147483648", "at least 1"),
        ("maxRecordsPerPartition", "0", "at least 1"),
        ("fetchOffset.numRetries", "0", "at least 1"),
        ("fetchOffset.retryIntervalMs", "-1", "at least 0"),
        ("kafkaConsumer.pollTimeoutMs", "0", "at least 1"),
        ("zookeeper.session.timeout.ms", "0", "at least 1"),
        ("commitOffsetsTo", "redis", "none or zookeeper or kafka or both"),
        ("startingOffsetsByTimestampStrategy", "earliest", "error or latest"),
        ("startingTimestamp", "now", "milliseconds"),
        ("startingTimestamp", "-2", "milliseconds"),
        ("endingTimestamp", "12.5", "milliseconds"),
        ("startingOffsets", "smallest", "earliest, latest, group or JSON"),
        ("endingOffsets", "largest", "earliest, latest or JSON"),
        ("startingOffsets", '{"t":{"0":-3}}', "-2 for the earliest"),
        ("startingOffsetsByTimestamp", '{"t":{"0":-1}}', "milliseconds"),
        ("kafka.max.partition.fetch.bytes", "0", "at least 1"),
        ("kafka.security.protocol", "TLS", "SASL_SSL"),
        ("kafka.offsets.storage", "disk", "zookeeper or kafka"),
        ("kafka.bootstrap.servers", "h:", "host1:port1"),
        ("kafka.bootstrap.servers", "h:99999", "host1:port1"),
        ("kafka.bootstrap.servers", " , ", "host1:port1"),
        ("zookeeper.connect", "a b", "expected host1:port1"),
        ("group.id", "a/b", "letters, digits"),
    ],
)
def test_bad_values_are_refused_under_the_name_of_the_option(
    name: str, value: str, allowed: str
) -> None:
    """The error for a bad value starts with the option's name, and says what is allowed."""
    with pytest.raises(ConfigError) as caught:
        source_options({**BASE, name: value})
    assert str(caught.value).startswith(name)
    assert allowed in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "kafka.auto.offset.reset",
        "kafka.key.deserializer",
        "kafka.value.deserializer",
        "kafka.enable.auto.commit",
        "kafka.auto.commit.enable",
        "kafka.interceptor.classes",
    ],
)
def test_options_that_spark_refuses_are_refused(name: str) -> None:
    """Options that Spark refuses are refused, in any case, and so is 0.8's name for one of them."""
    for spelled in (name, name.upper()):
        with pytest.raises(ConfigError, match=f"^{name}: it is not supported"):
            source_options({**BASE, spelled: "x"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of subscribe, subscribePattern, assign .* none is given"),
        ({"kafka.bootstrap.servers": "h:1"}, "none is given"),
        ({"subscribe": "t", "assign": "{}"}, "given are subscribe and assign"),
        ({"subscribe": "t", "subscribePattern": "t"}, "given are subscribe and subscribePattern"),
        ({"subscribe": "t"}, "set zookeeper.connect .* or kafka.bootstrap.servers"),
        ({**BASE, "subscribe": " , "}, "subscribe is ' , ': name topics"),
        ({**BASE, "subscribe": "a b"}, "subscribe: 'a b' can't be a topic's name"),
        (
            {**BASE, "minOffsetsPerTrigger": "11", "maxOffsetsPerTrigger": "10"},
            "minOffsetsPerTrigger is 11, more than maxOffsetsPerTrigger, which is 10",
        ),
        ({**BASE, "commitOffsetsTo": "kafka"}, "commitOffsetsTo is kafka: that needs group.id"),
        ({**BASE, "startingOffsets": "group"}, "startingOffsets is group: that needs group.id"),
        (
            {**BASE, "group.id": "g", "commitOffsetsTo": "zookeeper"},
            "commitOffsetsTo is zookeeper: that needs zookeeper.connect",
        ),
        (
            {**BASE, "group.id": "g", "commitOffsetsTo": "both"},
            "commitOffsetsTo is both: that needs zookeeper.connect",
        ),
        (
            {**BASE, "kafka.offsets.storage": "zookeeper"},
            "kafka.offsets.storage is zookeeper: that needs zookeeper.connect",
        ),
        (
            {**BASE, "group.id": "g", "kafka.group.id": "h"},
            "kafka.group.id says something else than group.id",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: Mapping[str, str], message: str
) -> None:
    """Options that contradict each other are refused, and the error names them."""
    with pytest.raises(ConfigError, match=message):
        source_options(options)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets is latest: a batch query"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "startingOffsets of t-0 is -1"),
        ({"endingOffsets": "earliest"}, "endingOffsets is earliest: a batch query"),
        ({"endingOffsets": "group", "group.id": "g"}, "endingOffsets is group: a batch query"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "endingOffsets of t-0 is -2"),
        (
            {"commitOffsetsTo": "kafka", "group.id": "g"},
            "commitOffsetsTo is kafka: a batch query does not commit",
        ),
        (
            {"startingOffsets": '{"t":{"0":7}}', "endingOffsets": '{"t":{"0":6}}'},
            "startingOffsets of t-0 is 7, behind endingOffsets 6",
        ),
        (
            {"startingOffsets": '{"t":{"0":7}}', "endingOffsets": '{"t":{"1":9}}'},
            "must name the same partitions: t-0, t-1",
        ),
        (
            {"startingTimestamp": "9", "endingTimestamp": "8"},
            "startingTimestamp is 9, behind endingTimestamp, which is 8",
        ),
        (
            {
                "startingOffsetsByTimestamp": '{"t":{"0":9}}',
                "endingOffsetsByTimestamp": '{"t":{"0":8}}',
            },
            "startingOffsetsByTimestamp of t-0 is 9, behind endingOffsetsByTimestamp 8",
        ),
    ],
)
def test_batch_queries_refuse_what_they_cannot_do(more: Mapping[str, str], message: str) -> None:
    """Batch queries refuse what only streams may do, which the common checks let pass."""
    options = source_options({**BASE, **more})
    with pytest.raises(ConfigError, match=message):
        options.for_batch()


@pytest.mark.parametrize("ends", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_streaming_queries_refuse_an_end(ends: str) -> None:
    """A streaming query refuses an end, however it is given."""
    values = {
        "endingOffsets": "latest",
        "endingOffsetsByTimestamp": '{"t":{"0":8}}',
        "endingTimestamp": "8",
    }
    options = source_options({**BASE, ends: values[ends]})
    options.for_batch()
    with pytest.raises(ConfigError, match=f"^{ends}: a streaming query has no end"):
        options.for_streaming()
