"""Spark's doors to a cluster that wants to know who one is: each by the same options.

Those of other doors are in ``tests/integration/net/test_every_door.py``.
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
"""By hand: how others are asked in is what ``test_every_door`` is about."""
COUNT = 12
VALUES = [b"%d" % number for number in range(COUNT)]
WRONG = "not-the-one"
PROMPT_MS = 20_000
"""For two of Spark's Python processes to start, too."""

Given = dict[str, str]


@dataclass(frozen=True, slots=True)
class Door:
    """A secured cluster with a topic of one partition, and the ways to it.

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
        """What the sandbox says of the way in."""
        return self.cluster.access

    @property
    def password(self) -> str:
        """The right one."""
        return self.access.settings["sasl_plain_password"]

    @property
    def by_zookeeper(self) -> Given:
        """Brokers are found at the listener of our protocol, in kafka-python's spelling."""
        return {
            "zookeeper.connect": self.cluster.zookeeper_connect,
            **self.access.settings,
        }

    @property
    def by_brokers(self) -> Given:
        """No ZooKeeper; in Spark's spelling."""
        given = self.access.settings
        return {
            "kafka.bootstrap.servers": self.access.bootstrap_servers,
            "kafka.security.protocol": given["security_protocol"],
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": given["ssl_cafile"],
            "kafka.sasl.mechanism": given["sasl_mechanism"],
            "kafka.sasl.jaas.config": self.jaas(self.password),
        }

    @property
    def with_wrong_password(self) -> Given:
        """Whoever comes so is not let in."""
        return self.by_brokers | {"kafka.sasl.jaas.config": self.jaas(WRONG)}

    def jaas(self, password: str) -> str:
        """As Kafka's clients are told a password."""
        user = self.access.settings["sasl_plain_username"]
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return f'{module} required username="{user}" password="{password}";'


@pytest.fixture(scope="module")
def door_of() -> Iterator[Callable[[str], Door]]:
    """A cluster of each release that a test asks for, behind TLS and SCRAM."""
    with ExitStack() as running:
        started: dict[str, Door] = {}

        def door(version: str) -> Door:
            if version not in started:
                cluster = running.enter_context(Sandbox(version, security="scram"))
                started[version] = Door(cluster, filled(cluster))
            return started[version]

        yield door


def filled(cluster: Sandbox) -> str:
    """A topic with messages, which nobody changes."""
    name = fresh_name("secured")
    cluster.create_topic(name)
    write(cluster, TopicPartition(name, 0), VALUES)
    return name


def read(spark: SparkSession, topic: str, given: Mapping[str, str]) -> DataFrame:
    """A batch query of all there is, unless something else is said."""
    return spark.read.format("zkconsumer").options(**{"subscribe": topic, **given}).load()


def values(frame: DataFrame) -> list[bytes]:
    """Of all rows, in their order."""
    return [bytes(row.value) for row in frame.orderBy("offset").select("value").collect()]


def files_with(secret: str, folder: Path) -> list[Path]:
    """Those below a folder that hold it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [file for file in files if secret.encode() in file.read_bytes()]


# --- Each door ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*OLDER, RELEASE])
def test_what_a_sink_writes_a_batch_reads(
    spark: SparkSession, door_of: Callable[[str], Door], version: str
) -> None:
    """Each by ZooKeeper once, and by brokers alone once."""
    door, topic = door_of(version), fresh_name("sink")
    door.cluster.create_topic(topic)
    for given, other in (
        (door.by_zookeeper, door.by_brokers),
        (door.by_brokers, door.by_zookeeper),
    ):
        before = values(read(spark, topic, other))
        rows = read(spark, door.topic, given).coalesce(1).select("value")
        rows.write.format("zkconsumer").mode("append").options(**other, topic=topic).save()
        assert values(read(spark, topic, given)) == before + VALUES


def test_batches_from_a_time_on(spark: SparkSession, door_of: Callable[[str], Door]) -> None:
    """Leaders are asked for times where they are asked for rows."""
    door = door_of(RELEASE)
    [first] = read(spark, door.topic, door.by_zookeeper).selectExpr("min(timestamp)").collect()
    at_ms = int(first[0].timestamp() * 1000)
    since = door.by_brokers | {"startingTimestamp": str(at_ms)}
    assert values(read(spark, door.topic, since)) == VALUES


@pytest.mark.parametrize("storage", ["both", "kafka"])
def test_a_stream_tells_its_group(
    spark: SparkSession, door_of: Callable[[str], Door], storage: str, tmp_path: Path
) -> None:
    """Where ZooKeeper and where the coordinator keep offsets, which wants to know us as well."""
    door, group = door_of(RELEASE), fresh_name("g")
    given = door.by_brokers if storage == "kafka" else door.by_zookeeper
    stream = spark.readStream.format("zkconsumer").options(**given).option("subscribe", door.topic)
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
    assert committed_in_kafka(group, door.tp, read_address(door.by_brokers)) == COUNT
    if storage == "both":
        node = ZkTree(door.cluster).get(offset_path(group, door.tp))
        assert node is not None
        assert node.data == b"%d" % COUNT
    password = door.access.settings["sasl_plain_password"].encode()
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and password in path.read_bytes()
    ]


def test_a_local_drain_is_proven(door_of: Callable[[str], Door], tmp_path: Path) -> None:
    """By the same settings, in this process; a wrong password is told."""
    door = door_of(RELEASE)
    settings = DrainSettings(
        path=str(tmp_path / "drain"),
        bootstrap_servers=door.access.bootstrap_servers,
        topics=(door.topic,),
        options=door.access.settings,
    )
    assert drain_locally(settings).rows == COUNT
    proof = verify_locally(settings.path, cluster=door.by_zookeeper)
    assert proof.outcome is ProofOutcome.PROVEN
    with pytest.raises(AuthenticationFailed):
        verify_locally(settings.path, cluster=door.with_wrong_password)
    secret = door.access.settings["sasl_plain_password"]
    assert not files_with(secret, tmp_path)


def test_a_drain_is_proven(
    spark: SparkSession, door_of: Callable[[str], Door], tmp_path: Path
) -> None:
    """Landed by way of ZooKeeper, compared with what brokers have."""
    door, group = door_of(RELEASE), fresh_name("g")
    settings = DrainSettings(
        path=str(tmp_path / "drain"),
        zookeeper=door.cluster.zookeeper_connect,
        topics=(door.topic,),
        group=group,
        commit_offsets_to="kafka",
        options=door.access.settings,
    )
    assert drain(spark, settings).rows == COUNT
    assert committed_in_kafka(group, door.tp, read_address(door.by_brokers)) == COUNT
    session = drain_session(spark)
    storage = HadoopStorage(session, settings.path)
    proof = verify(session, storage, cluster=door.by_brokers)
    assert proof.outcome is ProofOutcome.PROVEN
    password = door.access.settings["sasl_plain_password"].encode()
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and password in path.read_bytes()
    ]


def test_ranges_of_kafka_utils(spark: SparkSession, door_of: Callable[[str], Door]) -> None:
    """With parameters as Kafka calls them, without a prefix."""
    door = door_of(RELEASE)
    given = {name.removeprefix("kafka."): text for name, text in door.by_brokers.items()}
    rdd = KafkaUtils.createRDD(
        spark.sparkContext,
        given,
        [OffsetRange(door.topic, 0, 3, COUNT)],
        valueDecoder=lambda raw: raw,
    )
    assert [value for _, value in rdd.collect()] == VALUES[3:]


@pytest.mark.filterwarnings("ignore:DStream is deprecated:FutureWarning")
def test_a_direct_stream_writes_checkpoints_without_a_password(
    spark: SparkSession, door_of: Callable[[str], Door], tmp_path: Path
) -> None:
    """It goes on after it has written one."""
    door, seen = door_of(RELEASE), tmp_path / "seen"
    ssc = StreamingContext(spark.sparkContext, 1)
    ssc.checkpoint(str(tmp_path / "checkpoint"))
    given = {**door.access.settings, "metadata.broker.list": door.access.bootstrap_servers}
    direct = KafkaUtils.createDirectStream(
        ssc, [door.topic], {**given, "auto.offset.reset": "smallest"}
    )

    def save(rdd: RDD[tuple[str, str]]) -> None:
        with seen.open("a") as file:
            file.writelines(f"{value}\n" for _, value in rdd.collect())
            file.write("-\n")

    direct.foreachRDD(save)
    ssc.start()
    try:
        wait_until(
            lambda: seen.exists() and seen.read_text().count("-") > 2,
            timeout_s=60,
            what="three batches",
        )
    finally:
        ssc.stop(stopSparkContext=False, stopGraceFully=False)
    reported = [line.encode() for line in seen.read_text().splitlines() if line != "-"]
    assert reported == VALUES
    assert any((tmp_path / "checkpoint").iterdir())
    assert not files_with(door.password, tmp_path)


@pytest.mark.skipif(
    os.environ.get("ZKCONSUMER_PURE", "0") not in {"", "0"} and find_spec("gssapi") is None,
    reason="the gssapi package is compiled, and this is an installation in pure Python",
)
def test_a_batch_with_tickets(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every worker gets its own by the keytab that the options name."""
    with Sandbox(RELEASE, security="kerberos") as cluster:
        environment = {
            "KRB5_CONFIG": cluster.access.environment["KRB5_CONFIG"],
            "KRB5CCNAME": f"FILE:{tmp_path / 'tickets'}",
            "KRB5_CLIENT_KTNAME": f"FILE:{tmp_path / 'no-keytab'}",
        }
        # Workers are those of a Python function's environment, so these are workers of their own.
        for name, text in environment.items():
            monkeypatch.setitem(spark.sparkContext.environment, name, text)
        session = spark.newSession()
        register(session)
        topic = filled(cluster)
        given = {
            "kafka.bootstrap.servers": cluster.access.bootstrap_servers,
            **cluster.access.settings,
        }
        assert values(read(session, topic, given)) == VALUES


# --- Who is not let in ----------------------------------------------------------------------------


def batch(spark: SparkSession, door: Door, _: Path) -> None:
    """A batch query."""
    read(spark, door.topic, door.with_wrong_password).collect()


def sink(spark: SparkSession, door: Door, _: Path) -> None:
    """A batch that is written."""
    rows = spark.createDataFrame([("v",)], "value string")
    writer = rows.write.format("zkconsumer").mode("append").option("topic", door.topic)
    writer.options(**door.with_wrong_password).save()


def stream(spark: SparkSession, door: Door, folder: Path) -> None:
    """A streaming query."""
    source = spark.readStream.format("zkconsumer").options(**door.with_wrong_password)
    writer = source.option("subscribe", door.topic).load().writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination(120)


def landing(spark: SparkSession, door: Door, folder: Path) -> None:
    """A drain."""
    given = door.with_wrong_password
    servers = given.pop("kafka.bootstrap.servers")
    settings = DrainSettings(
        path=str(folder / "drain"), bootstrap_servers=servers, topics=(door.topic,), options=given
    )
    drain(spark, settings)


def ranges(spark: SparkSession, door: Door, _: Path) -> None:
    """An RDD."""
    given = {name.removeprefix("kafka."): value for name, value in door.with_wrong_password.items()}
    wanted = [OffsetRange(door.topic, 0, 0, 1)]
    KafkaUtils.createRDD(spark.sparkContext, given, wanted)


@pytest.mark.parametrize("open_door", [batch, sink, stream, landing, ranges])
def test_a_wrong_password_is_told_on_the_driver(
    spark: SparkSession,
    door_of: Callable[[str], Door],
    open_door: Callable[[SparkSession, Door, Path], None],
    tmp_path: Path,
    spark_log: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """At once, in one line without the password, and before any task starts."""
    door, clock = door_of(RELEASE), SystemClock()
    group = f"wrong password {open_door.__name__}"
    spark.sparkContext.setJobGroup(group, "must start nothing")
    began_ms = clock.now_ms()
    with pytest.raises((PySparkException, AuthenticationFailed)) as refused:
        open_door(spark, door, tmp_path)
    assert clock.now_ms() - began_ms < PROMPT_MS
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == []
    spark.sparkContext.setJobGroup("", "")
    text = f"{type(refused.value).__name__}: {refused.value}"
    lines = [line for line in text.splitlines() if "SaslAuthenticationFailedError: " in line]
    assert lines, text
    assert all("SCRAM-SHA-512 as 'client' failed" in line for line in lines)
    log = spark_log.read_text("utf-8", "replace")
    assert WRONG not in text + log + "".join(capfd.readouterr())
