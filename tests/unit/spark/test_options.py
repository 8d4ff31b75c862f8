"""The options of a query: what is read out of them, and what is refused."""

import pickle
from collections.abc import Mapping

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.offset_limits import AtTime, Earliest, Exact, Group, Latest
from zkconsumer.spark.options import SourceOptions, source_options
from zkconsumer.spark.subscription import Assigned, TopicPattern, Topics

BASE = {"subscribe": "t", "kafka.bootstrap.servers": "h:9092"}
ZOOKEEPER = {"subscribe": "t", "zookeeper.connect": "z:2181/kafka"}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def read(**more: str) -> SourceOptions:
    """The options of a query with these besides the least it must have; ``_`` is a dot."""
    return source_options({**BASE, **{name.replace("_", "."): text for name, text in more.items()}})


def test_defaults_are_those_of_spark() -> None:
    """What Spark 4.2 documents, and where its code says otherwise, its code."""
    options = source_options(BASE)
    assert options.subscription == Topics(("t",))
    assert options.address == ClusterAddress(bootstrap=(("h", 9092),))
    assert options.fail_on_data_loss
    assert options.max_offsets_per_trigger is None
    assert options.min_offsets_per_trigger is None
    assert options.max_trigger_delay_ms == 15 * 60 * 1000
    assert options.min_partitions is None
    assert options.max_records_per_partition is None
    assert not options.include_headers
    assert (options.retries, options.retry_interval_ms) == (3, 1000)
    assert options.poll_timeout_ms == 120_000
    assert options.notes == ()


def test_our_own_defaults_touch_no_group() -> None:
    """Nothing is committed unless that is asked for."""
    options = source_options(BASE)
    assert options.group_id is None
    assert options.commit_offsets_to == "none"
    assert not options.allow_live_group
    settings = options.range_settings()
    assert settings.client_id == options.client_id == "zkconsumer-spark"
    assert settings.fetch_bytes == 4 << 20
    assert settings.fail_on_data_loss
    assert settings.poll_timeout_ms == 120_000


def test_a_batch_reads_everything_and_a_stream_what_comes() -> None:
    """The two kinds of query have different defaults, which what is given replaces."""
    options = source_options(BASE)
    assert (options.for_batch().starting, options.for_batch().ending) == (Earliest(), Latest())
    assert options.for_streaming().starting == Latest()
    assert read(startingOffsets="earliest").for_streaming().starting == Earliest()


def test_case_matters_in_no_name() -> None:
    """As in Spark, which may hand them over in any case."""
    options = source_options(
        {"SUBSCRIBE": "t", "Kafka.Bootstrap.Servers": "h:1", "FAILONDATALOSS": "False"}
    )
    assert not options.fail_on_data_loss
    assert options.notes == ()


def test_every_option_arrives() -> None:
    """Each of them changes what it should."""
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
    assert options.range_settings().poll_timeout_ms == options.poll_timeout_ms == 512
    assert not options.range_settings().fail_on_data_loss
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
def test_settings_of_the_client_are_handed_through(
    name: str, value: str, field: str, number: int
) -> None:
    """Under the names of 0.8 and of later Kafka alike."""
    options = source_options({**BASE, name: value})
    assert getattr(options.range_settings(), field) == number
    assert options.notes == ()


def test_a_fetch_larger_than_what_it_may_grow_to_raises_that() -> None:
    """Who asks for 200 MB means it."""
    settings = source_options(
        {**BASE, "kafka.max.partition.fetch.bytes": str(200 << 20)}
    ).range_settings()
    assert settings.growth_max_bytes == settings.fetch_bytes == 200 << 20


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
        ("kafka.security.protocol", "SASL_SSL", "PLAINTEXT"),
        ("kafka.offsets.storage", "disk", "zookeeper or kafka"),
        ("kafka.bootstrap.servers", "h", "host1:port1"),
        ("kafka.bootstrap.servers", "h:99999", "host1:port1"),
        ("kafka.bootstrap.servers", " , ", "host1:port1"),
        ("zookeeper.connect", "a b", "expected host1:port1"),
        ("group.id", "a/b", "letters, digits"),
    ],
)
def test_bad_values_are_refused_under_the_name_of_the_option(
    name: str, value: str, allowed: str
) -> None:
    """With what is allowed."""
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
def test_what_spark_refuses_is_refused(name: str) -> None:
    """And the name that 0.8 has for one of them; in any case."""
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
        ({**BASE, "group.id": "g", "kafka.group.id": "h"}, "kafka.group.id is 'h', but group.id"),
    ],
)
def test_what_does_not_fit_together_is_refused(options: Mapping[str, str], message: str) -> None:
    """With the options that are at odds."""
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
    """The common checks let it pass: a stream may do it."""
    options = source_options({**BASE, **more})
    with pytest.raises(ConfigError, match=message):
        options.for_batch()


@pytest.mark.parametrize("ends", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_streaming_queries_refuse_an_end(ends: str) -> None:
    """Whichever way it is given."""
    values = {
        "endingOffsets": "latest",
        "endingOffsetsByTimestamp": '{"t":{"0":8}}',
        "endingTimestamp": "8",
    }
    options = source_options({**BASE, ends: values[ends]})
    options.for_batch()
    with pytest.raises(ConfigError, match=f"^{ends}: a streaming query has no end"):
        options.for_streaming()


def test_what_a_batch_ignores_is_noted() -> None:
    """As Spark warns of it."""
    options = read(maxOffsetsPerTrigger="5", maxTriggerDelay="1s")
    assert options.for_streaming().notes == ()
    assert options.for_batch().notes == (
        "option maxOffsetsPerTrigger is ignored in batch queries",
        "option maxTriggerDelay is ignored in batch queries",
    )


def test_what_is_not_known_is_noted() -> None:
    """Spark takes any name; a slip of the pen shall not go unseen."""
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
    """Spark's is an alias; both may be given if they agree."""
    assert read(kafka_group_id="g").group_id == "g"
    assert read(kafka_group_id="g", group_id="g").group_id == "g"
    assert read(kafka_group_id="g", startingOffsets="GROUP").starting == Group()


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
    """Where the query commits; else where 0.8's own setting says, which is ZooKeeper by default."""
    assert source_options({**ZOOKEEPER, **more}).group_offsets_in == storage


def test_without_zookeeper_a_group_is_read_from_kafka() -> None:
    """There is nowhere else."""
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
def test_times_go_before_offsets(more: Mapping[str, str], limit: object) -> None:
    """In Spark's order: one time for all, times by partition, offsets."""
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
    """A bare number is milliseconds."""
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
    """Blanks, empty parts and names of listeners do no harm."""
    assert read(kafka_bootstrap_servers=text).address.bootstrap == servers


def test_values_that_are_no_text_are_refused() -> None:
    """Spark gives texts; who calls this otherwise hears of it."""
    with pytest.raises(ConfigError, match="minPartitions is 3: the value of an option is a text"):
        source_options({**BASE, "minPartitions": 3})  # type: ignore[dict-item]


def test_a_pattern_is_a_java_pattern() -> None:
    """Read as Java reads it, and refused where that is not certain."""
    pattern = source_options({"subscribePattern": " a.* ", "kafka.bootstrap.servers": "h:1"})
    assert pattern.subscription == TopicPattern("a.*")
    for bad, message in (("", "give a Java regular expression"), ("(", "can't be used")):
        with pytest.raises(ConfigError, match=f"^subscribePattern.*{message}"):
            source_options({"subscribePattern": bad, "kafka.bootstrap.servers": "h:1"})


def test_options_travel() -> None:
    """Spark sends the reader, and its options with it, to other processes."""
    options = source_options({**ZOOKEEPER, "subscribe": "t", "startingTimestamp": "5"}).for_batch()
    assert pickle.loads(pickle.dumps(options)) == options
    pattern = source_options({"subscribePattern": "a|b", "zookeeper.connect": "z:1"})
    assert pickle.loads(pickle.dumps(pattern)) == pattern
