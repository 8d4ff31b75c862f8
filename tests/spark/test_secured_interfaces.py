"""Each of Spark's interfaces reads and writes a secured cluster by the same options.

The interfaces without Spark are in ``tests/integration/net/test_every_secured_interface.py``.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyspark.core.rdd import RDD
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.streaming import StreamingContext

from tests.spark.queries import committed_in_kafka
from tests.support.clusters import fresh_name
from tests.support.traffic import write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.clock import SystemClock
from zkconsumer.drain.local.launch import drain_locally, verify_locally
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.on_spark.launch import drain, verify
from zkconsumer.drain.on_spark.rows import drain_session
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.secured import ClientAccess
from zkconsumer.spark import KafkaUtils, OffsetRange
from zkconsumer.spark.address import read_address
from zkconsumer.spark.session import register

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

RELEASE = "3.9.1"
OLDER = [pytest.param(version, marks=pytest.mark.versions) for version in ("1.1.1", "2.8.2")]
"""Only on request: ``test_every_secured_interface`` covers authentication with other releases."""
COUNT = 12
VALUES = [b"%d" % number for number in range(COUNT)]
WRONG = "not-the-one"
PROMPT_MS = 20_000
"""Includes the start of two of Spark's Python processes."""

Options = dict[str, str]


@dataclass(frozen=True, slots=True)
class SecuredTopic:
    """A topic of one partition on a secured cluster, and the options to reach it.

    Attributes:
        cluster: the cluster.
        topic: holds ``VALUES``.
    """

    cluster: Sandbox
    topic: str

    @property
    def tp(self) -> TopicPartition:
        """The topic's only partition."""
        return TopicPartition(self.topic, 0)

    @property
    def access(self) -> ClientAccess:
        """How the sandbox says that clients connect."""
        return self.cluster.access

    @property
    def password(self) -> str:
        """The correct password."""
        return self.access.settings["sasl_plain_password"]

    @property
    def by_zookeeper(self) -> Options:
        """Options that find brokers in ZooKeeper by their protocol, named as in kafka-python."""
        return {
            "zookeeper.connect": self.cluster.zookeeper_connect,
            **self.access.settings,
        }

    @property
    def by_brokers(self) -> Options:
        """Options without ZooKeeper, named as in Spark."""
        options = self.access.settings
        return {
            "kafka.bootstrap.servers": self.access.bootstrap_servers,
            "kafka.security.protocol": options["security_protocol"],
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": options["ssl_cafile"],
            "kafka.sasl.mechanism": options["sasl_mechanism"],
            "kafka.sasl.jaas.config": self.jaas(self.password),
        }

    @property
    def with_wrong_password(self) -> Options:
        """Options with a password that brokers refuse."""
        return self.by_brokers | {"kafka.sasl.jaas.config": self.jaas(WRONG)}

    def jaas(self, password: str) -> str:
        """Return a password as JVM clients get it."""
        user = self.access.settings["sasl_plain_username"]
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return f'{module} required username="{user}" password="{password}";'


@pytest.fixture(scope="module")
def secured_of() -> Iterator[Callable[[str], SecuredTopic]]:
    """Start a cluster of each release that a test asks for, with TLS and SCRAM."""
    with ExitStack() as running:
        topics: dict[str, SecuredTopic] = {}

        def get(version: str) -> SecuredTopic:
            if version not in topics:
                cluster = running.enter_context(Sandbox(version, security="scram"))
                topics[version] = SecuredTopic(cluster, filled(cluster))
            return topics[version]

        yield get


def filled(cluster: Sandbox) -> str:
    """Create a topic with messages, which tests only read."""
    name = fresh_name("secured")
    cluster.create_topic(name)
    write(cluster, TopicPartition(name, 0), VALUES)
    return name


def read(spark: SparkSession, topic: str, options: Mapping[str, str]) -> DataFrame:
    """Return a batch query of all messages, unless the options say otherwise."""
    return spark.read.format("zkconsumer").options(**{"subscribe": topic, **options}).load()


def values(frame: DataFrame) -> list[bytes]:
    """Return the values of all rows, in offset order."""
    return [bytes(row.value) for row in frame.orderBy("offset").select("value").collect()]


def files_with(secret: str, folder: Path) -> list[Path]:
    """Return the files below a folder that contain the secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [file for file in files if secret.encode() in file.read_bytes()]


# --- Each interface -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*OLDER, RELEASE])
def test_a_batch_reads_what_a_sink_writes(
    spark: SparkSession, secured_of: Callable[[str], SecuredTopic], version: str
) -> None:
    """Each connects by ZooKeeper once, and by brokers alone once."""
    secured, topic = secured_of(version), fresh_name("sink")
    secured.cluster.create_topic(topic)
    for options, other in (
        (secured.by_zookeeper, secured.by_brokers),
        (secured.by_brokers, secured.by_zookeeper),
    ):
        before = values(read(spark, topic, other))
        rows = read(spark, secured.topic, options).coalesce(1).select("value")
        rows.write.format("zkconsumer").mode("append").options(**other, topic=topic).save()
        assert values(read(spark, topic, options)) == before + VALUES


def test_a_batch_starts_at_a_timestamp(
    spark: SparkSession, secured_of: Callable[[str], SecuredTopic]
) -> None:
    """Leaders are asked for offsets of timestamps by the same connections as for rows."""
    secured = secured_of(RELEASE)
    [first] = (
        read(spark, secured.topic, secured.by_zookeeper).selectExpr("min(timestamp)").collect()
    )
    at_ms = int(first[0].timestamp() * 1000)
    since = secured.by_brokers | {"startingTimestamp": str(at_ms)}
    assert values(read(spark, secured.topic, since)) == VALUES


@pytest.mark.parametrize("storage", ["both", "kafka"])
def test_a_stream_commits_for_its_group(
    spark: SparkSession, secured_of: Callable[[str], SecuredTopic], storage: str, tmp_path: Path
) -> None:
    """Offsets get to ZooKeeper and to the coordinator, which demands authentication as well."""
    secured, group = secured_of(RELEASE), fresh_name("g")
    options = secured.by_brokers if storage == "kafka" else secured.by_zookeeper
    stream = (
        spark.readStream.format("zkconsumer").options(**options).option("subscribe", secured.topic)
    )
    stream.option("group.id", group).option("commitOffsetsTo", storage)
    query = (
        stream.option("startingOffsets", "earliest")
        .load()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "rows"))
    )
    assert query.awaitTermination(120)
    assert values(spark.read.parquet(str(tmp_path / "rows"))) == VALUES
    assert committed_in_kafka(group, secured.tp, read_address(secured.by_brokers)) == COUNT
    if storage == "both":
        node = ZkTree(secured.cluster).get(offset_path(group, secured.tp))
        assert node is not None
        assert node.data == b"%d" % COUNT
    password = secured.access.settings["sasl_plain_password"].encode()
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and password in path.read_bytes()
    ]


def test_a_local_drain_is_proven(secured_of: Callable[[str], SecuredTopic], tmp_path: Path) -> None:
    """A drain in this process takes the same settings; a wrong password raises."""
    secured = secured_of(RELEASE)
    settings = DrainSettings(
        path=str(tmp_path / "drain"),
        bootstrap_servers=secured.access.bootstrap_servers,
        topics=(secured.topic,),
        options=secured.access.settings,
    )
    assert drain_locally(settings).rows == COUNT
    proof = verify_locally(settings.path, cluster=secured.by_zookeeper)
    assert proof.outcome is ProofOutcome.PROVEN
    with pytest.raises(AuthenticationFailed):
        verify_locally(settings.path, cluster=secured.with_wrong_password)
    secret = secured.access.settings["sasl_plain_password"]
    assert not files_with(secret, tmp_path)


def test_a_drain_is_proven(
    spark: SparkSession, secured_of: Callable[[str], SecuredTopic], tmp_path: Path
) -> None:
    """The drain finds brokers by ZooKeeper, and verify compares with what brokers have."""
    secured, group = secured_of(RELEASE), fresh_name("g")
    settings = DrainSettings(
        path=str(tmp_path / "drain"),
        zookeeper=secured.cluster.zookeeper_connect,
        topics=(secured.topic,),
        group=group,
        commit_offsets_to="kafka",
        options=secured.access.settings,
    )
    assert drain(spark, settings).rows == COUNT
    assert committed_in_kafka(group, secured.tp, read_address(secured.by_brokers)) == COUNT
    session = drain_session(spark)
    storage = HadoopStorage(session, settings.path)
    proof = verify(session, storage, cluster=secured.by_brokers)
    assert proof.outcome is ProofOutcome.PROVEN
    password = secured.access.settings["sasl_plain_password"].encode()
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and password in path.read_bytes()
    ]


def test_kafka_utils_reads_ranges(
    spark: SparkSession, secured_of: Callable[[str], SecuredTopic]
) -> None:
    """``KafkaUtils`` takes parameters under Kafka's names, without a prefix."""
    secured = secured_of(RELEASE)
    options = {name.removeprefix("kafka."): text for name, text in secured.by_brokers.items()}
    rdd = KafkaUtils.createRDD(
        spark.sparkContext,
        options,
        [OffsetRange(secured.topic, 0, 3, COUNT)],
        valueDecoder=lambda raw: raw,
    )
    assert [value for _, value in rdd.collect()] == VALUES[3:]


@pytest.mark.filterwarnings("ignore:DStream is deprecated:FutureWarning")
def test_a_direct_stream_writes_checkpoints_without_a_password(
    spark: SparkSession, secured_of: Callable[[str], SecuredTopic], tmp_path: Path
) -> None:
    """The stream goes on after it has written a checkpoint."""
    secured, values_file = secured_of(RELEASE), tmp_path / "values_file"
    ssc = StreamingContext(spark.sparkContext, 1)
    ssc.checkpoint(str(tmp_path / "checkpoint"))
    options = {**secured.access.settings, "metadata.broker.list": secured.access.bootstrap_servers}
    direct = KafkaUtils.createDirectStream(
        ssc, [secured.topic], {**options, "auto.offset.reset": "smallest"}
    )

    def save(rdd: RDD[tuple[str, str]]) -> None:
        with values_file.open("a") as file:
            file.writelines(f"{value}\n" for _, value in rdd.collect())
            file.write("-\n")

    direct.foreachRDD(save)
    ssc.start()
    try:
        wait_until(
            lambda: values_file.exists() and values_file.read_text().count("-") > 2,
            timeout_s=60,
            what="three batches",
        )
    finally:
        ssc.stop(stopSparkContext=False, stopGraceFully=False)
    values_read = [line.encode() for line in values_file.read_text().splitlines() if line != "-"]
    assert values_read == VALUES
    assert any((tmp_path / "checkpoint").iterdir())
    assert not files_with(secured.password, tmp_path)


@pytest.mark.skipif(
    os.environ.get("ZKCONSUMER_PURE", "0") not in {"", "0"} and find_spec("gssapi") is None,
    reason="the gssapi package is compiled, and this is an installation in pure Python",
)
def test_a_batch_with_tickets(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every worker gets a ticket of its own with the keytab that the options name."""
    with Sandbox(RELEASE, security="kerberos") as cluster:
        environment = {
            "KRB5_CONFIG": cluster.access.environment["KRB5_CONFIG"],
            "KRB5CCNAME": f"FILE:{tmp_path / 'tickets'}",
            "KRB5_CLIENT_KTNAME": f"FILE:{tmp_path / 'no-keytab'}",
        }
        # Spark keeps workers apart by their environment, so these start for this test.
        for name, text in environment.items():
            monkeypatch.setitem(spark.sparkContext.environment, name, text)
        session = spark.newSession()
        register(session)
        topic = filled(cluster)
        options = {
            "kafka.bootstrap.servers": cluster.access.bootstrap_servers,
            **cluster.access.settings,
        }
        assert values(read(session, topic, options)) == VALUES


# --- Clients that are refused ---------------------------------------------------------------------


def batch(spark: SparkSession, secured: SecuredTopic, _: Path) -> None:
    """Run a batch query."""
    read(spark, secured.topic, secured.with_wrong_password).collect()


def sink(spark: SparkSession, secured: SecuredTopic, _: Path) -> None:
    """Write a batch."""
    rows = spark.createDataFrame([("v",)], "value string")
    writer = rows.write.format("zkconsumer").mode("append").option("topic", secured.topic)
    writer.options(**secured.with_wrong_password).save()


def stream(spark: SparkSession, secured: SecuredTopic, folder: Path) -> None:
    """Run a streaming query."""
    source = spark.readStream.format("zkconsumer").options(**secured.with_wrong_password)
    writer = source.option("subscribe", secured.topic).load().writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination(120)


def run_drain(spark: SparkSession, secured: SecuredTopic, folder: Path) -> None:
    """Run a drain."""
    options = secured.with_wrong_password
    servers = options.pop("kafka.bootstrap.servers")
    settings = DrainSettings(
        path=str(folder / "drain"),
        bootstrap_servers=servers,
        topics=(secured.topic,),
        options=options,
    )
    drain(spark, settings)


def ranges(spark: SparkSession, secured: SecuredTopic, _: Path) -> None:
    """Create an RDD."""
    options = {
        name.removeprefix("kafka."): value for name, value in secured.with_wrong_password.items()
    }
    wanted = [OffsetRange(secured.topic, 0, 0, 1)]
    KafkaUtils.createRDD(spark.sparkContext, options, wanted)


@pytest.mark.parametrize("use_wrong_password", [batch, sink, stream, run_drain, ranges])
def test_a_wrong_password_is_reported_on_the_driver(
    spark: SparkSession,
    secured_of: Callable[[str], SecuredTopic],
    use_wrong_password: Callable[[SparkSession, SecuredTopic, Path], None],
    tmp_path: Path,
    spark_log: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is reported at once, in one line without the password, before any task starts."""
    secured, clock = secured_of(RELEASE), SystemClock()
    group = f"wrong password {use_wrong_password.__name__}"
    spark.sparkContext.setJobGroup(group, "must start nothing")
    began_ms = clock.now_ms()
    with pytest.raises((PySparkException, AuthenticationFailed)) as refused:
        use_wrong_password(spark, secured, tmp_path)
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == []
    spark.sparkContext.setJobGroup("", "")
    text = f"{type(refused.value).__name__}: {refused.value}"
    lines = [line for line in text.splitlines() if "SaslAuthenticationFailedError: " in line]
    assert lines, text
    assert all("SCRAM-SHA-512 as 'client' failed" in line for line in lines)
    log = spark_log.read_text("utf-8", "replace")
    assert WRONG not in text + log + "".join(capfd.readouterr())
