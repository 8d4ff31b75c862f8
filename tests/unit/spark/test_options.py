"""How the options of a query are read."""

import pickle
from collections.abc import Mapping

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.offset_limits import AtTime, Exact, NamedLimit
from zkconsumer.spark.options import SourceOptions, source_options
from zkconsumer.spark.subscription import Assigned, TopicPattern, Topics

BASE = {"subscribe": "t", "kafka.bootstrap.servers": "h:9092"}
ZOOKEEPER = {"subscribe": "t", "zookeeper.connect": "z:2181/kafka"}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def read(**more: str) -> SourceOptions:
    """Return the options of a query with the required ones and these; ``_`` stands for a dot."""
    return source_options({**BASE, **{name.replace("_", "."): text for name, text in more.items()}})


def test_defaults_are_those_of_spark() -> None:
    """Defaults are those that Spark 4.2 documents, or those of its code where they differ."""
    options = source_options(BASE)
    assert options.subscription == Topics(("t",))
    assert options.address == ClusterAddress(bootstrap=(Broker(-1, "h", 9092),))
    assert options.ranges.fail_on_data_loss
    assert options.max_offsets_per_trigger is None
    assert options.min_offsets_per_trigger is None
    assert options.max_trigger_delay_ms == 15 * 60 * 1000
    assert options.min_partitions is None
    assert options.max_records_per_partition is None
    assert not options.include_headers
    assert (options.retries, options.retry_interval_ms) == (3, 1000)
    assert options.ranges.poll_timeout_ms == 120_000
    assert options.notes == ()


def test_our_own_defaults_touch_no_group() -> None:
    """Nothing is committed unless an option says so."""
    options = source_options(BASE)
    assert options.group_id is None
    assert options.commit_offsets_to == "none"
    assert not options.allow_live_group
    assert options.ranges.client_id == "zkconsumer-spark"
    assert options.ranges.fetch_bytes == 4 << 20


def test_a_batch_reads_everything_and_a_stream_what_comes() -> None:
    """Batch and streaming queries start at different offsets by default, which options override."""
    options = source_options(BASE)
    assert (options.for_batch().starting, options.for_batch().ending) == (
        NamedLimit.EARLIEST,
        NamedLimit.LATEST,
    )
    assert options.for_streaming().starting == NamedLimit.LATEST
    assert read(startingOffsets="earliest").for_streaming().starting == NamedLimit.EARLIEST


def test_option_names_are_read_in_any_case() -> None:
    """Option names are read in any case, as Spark may pass them in any."""
    options = source_options(
        {"SUBSCRIBE": "t", "Kafka.Bootstrap.Servers": "h:1", "FAILONDATALOSS": "False"}
    )
    assert not options.ranges.fail_on_data_loss
    assert options.notes == ()


def test_every_option_is_read() -> None:
    """Each option changes the setting that it stands for."""
    options = source_options(
        {
            "zookeeper.connect": " z:2181/kafka ",
            "zookeeper.session.timeout.ms": "7000",
            "assign": '{"t":[1,0,1]}',
            "startingOffsets": '{"t":{"0":5,"1":-2}}',
            "failOnDataLoss": "false",
            "maxOffsetsPerTrigger": "1000",
            "minOffsetsPerTrigger": "10",
            "maxTriggerDelay": "30s",
            "minPartitions": "8",
            "maxRecordsPerPartition": "50",
            "includeHeaders": "true",
            "fetchOffset.numRetries": "5",
            "fetchOffset.retryIntervalMs": "20",
            "kafkaConsumer.pollTimeoutMs": "512",
            "group.id": "g",
            "commitOffsetsTo": "Both",
            "allowLiveGroup": "TRUE",
        }
    ).for_streaming()
    assert options.address == ClusterAddress(
        zookeeper_connect="z:2181/kafka", session_timeout_ms=7000, connection_timeout_ms=7000
    )
    assert options.subscription == Assigned((T0, T1))
    assert options.starting == Exact({T0: 5, T1: -2})
    assert (options.max_offsets_per_trigger, options.min_offsets_per_trigger) == (1000, 10)
    assert options.max_trigger_delay_ms == 30_000
    assert (options.min_partitions, options.max_records_per_partition) == (8, 50)
    assert options.include_headers
    assert (options.retries, options.retry_interval_ms) == (5, 20)
    assert options.ranges.poll_timeout_ms == 512
    assert not options.ranges.fail_on_data_loss
    assert (options.group_id, options.commit_offsets_to) == ("g", "both")
    assert options.group_offsets_in == "both"
    assert options.allow_live_group


@pytest.mark.parametrize(
    ("name", "value", "field", "number"),
    [
        ("kafka.max.partition.fetch.bytes", "77", "fetch_bytes", 77),
        ("kafka.fetch.message.max.bytes", "77", "fetch_bytes", 77),
        ("kafka.fetch.message.growth.max.bytes", "99999999", "growth_max_bytes", 99_999_999),
        ("kafka.fetch.max.decompressed.bytes", "88", "max_decompressed_bytes", 88),
        ("kafka.request.timeout.ms", "55", "timeout_ms", 55),
        ("kafka.socket.timeout.ms", "55", "timeout_ms", 55),
        ("kafka.fetch.max.wait.ms", "0", "max_wait_ms", 0),
        ("kafka.fetch.wait.max.ms", "0", "max_wait_ms", 0),
        ("kafka.retry.backoff.ms", "3", "retry_interval_ms", 3),
        ("kafka.refresh.leader.backoff.ms", "3", "retry_interval_ms", 3),
    ],
)
def test_client_settings_are_read_under_either_name(
    name: str, value: str, field: str, number: int
) -> None:
    """Client settings are read under the names of 0.8 and of later Kafka."""
    options = source_options({**BASE, name: value})
    assert getattr(options.ranges, field) == number
    assert options.notes == ()


def test_a_fetch_size_above_the_maximum_raises_the_maximum() -> None:
    """A fetch size above the default maximum raises the maximum: 200 MB were asked for."""
    settings = source_options({**BASE, "kafka.max.partition.fetch.bytes": str(200 << 20)}).ranges
    assert settings.growth_max_bytes == settings.fetch_bytes == 200 << 20


def test_what_a_batch_ignores_is_noted() -> None:
    """Options that a batch query ignores are noted, as Spark warns of them."""
    options = read(maxOffsetsPerTrigger="5", maxTriggerDelay="1s")
    assert options.for_streaming().notes == ()
    assert options.for_batch().notes == (
        "option maxOffsetsPerTrigger is ignored in batch queries",
        "option maxTriggerDelay is ignored in batch queries",
    )


def test_unknown_options_are_noted() -> None:
    """Unknown options are accepted, as by Spark, but noted: they may be misspelt."""
    options = source_options(
        {**BASE, "startingOfsets": "earliest", "groupIdPrefix": "x", "kafka.acks": "1", "q": "1"}
    )
    assert options.notes == (
        "option q is not known and is ignored",
        "option startingofsets is not known and is ignored (did you mean startingOffsets?)",
        "option kafka.acks is accepted but has no effect here",
        "option groupIdPrefix is accepted but has no effect here",
    )


def test_a_group_has_two_names() -> None:
    """Spark's name for the group is an alias; both may be given if they agree."""
    assert read(kafka_group_id="g").group_id == "g"
    assert read(kafka_group_id="g", group_id="g").group_id == "g"
    assert read(kafka_group_id="g", startingOffsets="GROUP").starting == NamedLimit.GROUP


@pytest.mark.parametrize(
    ("more", "storage"),
    [
        ({}, "zookeeper"),
        ({"kafka.offsets.storage": "kafka"}, "kafka"),
        ({"commitOffsetsTo": "kafka", "group.id": "g"}, "kafka"),
        ({"commitOffsetsTo": "both", "group.id": "g", "kafka.offsets.storage": "kafka"}, "both"),
    ],
)
def test_a_group_is_read_from_where_it_commits(more: Mapping[str, str], storage: str) -> None:
    """A group is read from where the query commits, else from where ``offsets.storage`` says.

    That is ZooKeeper by default.
    """
    assert source_options({**ZOOKEEPER, **more}).group_offsets_in == storage


def test_without_zookeeper_a_group_is_read_from_kafka() -> None:
    """Without ZooKeeper's address a group's offsets are read from Kafka."""
    assert source_options(BASE).group_offsets_in == "kafka"


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({"startingTimestamp": "5"}, AtTime(5)),
        ({"startingTimestamp": "5", "startingOffsetsByTimestamp": '{"t":{"0":6}}'}, AtTime(5)),
        (
            {"startingOffsetsByTimestamp": '{"t":{"0":6}}', "startingOffsets": "earliest"},
            AtTime({T0: 6}),
        ),
        (
            {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "LATEST"},
            AtTime(5, latest_if_none=True),
        ),
    ],
)
def test_times_override_offsets(more: Mapping[str, str], limit: object) -> None:
    """As in Spark, one time for all overrides times by partition, and those override offsets."""
    assert source_options({**BASE, **more}).starting == limit


@pytest.mark.parametrize(
    ("text", "delay_ms"),
    [
        ("0", 0),
        ("250", 250),
        ("250ms", 250),
        ("2500us", 2),
        ("3s", 3_000),
        ("2 M", 120_000),
        ("2min", 120_000),
        ("1h", 3_600_000),
        ("1d", 86_400_000),
    ],
)
def test_delays_are_written_as_in_spark(text: str, delay_ms: int) -> None:
    """Delays have Spark's units; a bare number is milliseconds."""
    assert read(maxTriggerDelay=text).max_trigger_delay_ms == delay_ms


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("a:1,b:2", (("a", 1), ("b", 2))),
        (" a:1 , a:1 ,", (("a", 1),)),
        ("PLAINTEXT://a:1,[::1]:2", (("a", 1), ("::1", 2))),
    ],
)
def test_brokers_are_written_as_in_kafka(text: str, servers: tuple[tuple[str, int], ...]) -> None:
    """Blanks, empty parts and listener names in a broker list are ignored."""
    found = read(kafka_bootstrap_servers=text).address.bootstrap
    assert tuple((broker.host, broker.port) for broker in found) == servers


def test_values_that_are_not_text_are_refused() -> None:
    """Spark passes text only; a value of another type is refused with its type named."""
    with pytest.raises(ConfigError, match="minPartitions is 3: the value of an option is a text"):
        source_options({**BASE, "minPartitions": 3})  # type: ignore[dict-item]


def test_a_pattern_is_a_java_pattern() -> None:
    """A pattern has Java's syntax, and is refused where it might be read differently."""
    pattern = source_options({"subscribePattern": " a.* ", "kafka.bootstrap.servers": "h:1"})
    assert pattern.subscription == TopicPattern("a.*")
    for bad, message in (("", "give a Java regular expression"), ("(", "can't be used")):
        with pytest.raises(ConfigError, match=f"^subscribePattern.*{message}"):
            source_options({"subscribePattern": bad, "kafka.bootstrap.servers": "h:1"})


def test_options_can_be_pickled() -> None:
    """Options can be pickled, as Spark sends them to other processes with the reader."""
    options = source_options({**ZOOKEEPER, "subscribe": "t", "startingTimestamp": "5"}).for_batch()
    assert pickle.loads(pickle.dumps(options)) == options
    pattern = source_options({"subscribePattern": "a|b", "zookeeper.connect": "z:1"})
    assert pickle.loads(pickle.dumps(pattern)) == pattern
