"""Settings of a drain: which go together, and how they are parsed."""

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from zkconsumer.drain.command import add_arguments, settings_of, summary
from zkconsumer.drain.on_spark.errors import reason
from zkconsumer.drain.progress import DrainPace, MeteredProgress, duration
from zkconsumer.drain.runner import DrainReport
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.table_name import TableName
from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition

GOOD = DrainSettings(path="/lake", zookeeper="zk1:2181/kafka", topics=("b", "a"), group="g")


def parsed(*arguments: str) -> DrainSettings:
    """Return the settings of a command line."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return settings_of(parser.parse_args(arguments))


def test_offsets_are_committed_to_the_group_s_storage() -> None:
    """The default is ZooKeeper if there is one; without a group nothing is committed."""
    assert GOOD.checked().commit_offsets_to == "zookeeper"
    assert replace(GOOD, group=None).checked().commit_offsets_to == "none"
    assert replace(GOOD, commit_offsets_to="both").checked().commit_offsets_to == "both"
    brokers = replace(GOOD, zookeeper=None, bootstrap_servers="b:9092")
    assert brokers.checked().commit_offsets_to == "kafka"


def test_the_order_of_topics_does_not_change_the_identity() -> None:
    """The identity holds the set of topics."""
    assert GOOD.identity("x", 1) == replace(GOOD, topics=("a", "b", "a")).identity("x", 1)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"zookeeper": None}, "--zookeeper or --bootstrap-servers"),
        ({"topics": ()}, "--topics or --topics-pattern"),
        ({"topics_pattern": "x"}, "give one of them"),
        ({"format": "avro"}, "--format is 'avro'"),
        ({"format": "kafka"}, "go together"),
        ({"path": " "}, "--to"),
        ({"catalog": "lakehouse"}, "--catalog requires --format iceberg, but it is parquet"),
        ({"format": "iceberg", "catalog": "a:b"}, "--catalog is 'a:b'"),
        ({"format": "iceberg", "table": "events"}, "--table is 'events': give it as NAMESPACE"),
        ({"format": "iceberg", "path": "hdfs://nn/l"}, "--format iceberg can't be kept in hdfs://"),
        (
            {"format": "iceberg", "path": "viewfs://c/l"},
            "can't be kept in viewfs:// .* on no engine",
        ),
        ({"max_offsets_per_batch": 0}, "--max-offsets-per-batch is 0"),
        ({"interval_ms": -1}, "--interval-ms is -1"),
        ({"group": None, "starting": "group"}, "requires --group"),
        ({"group": None, "commit_offsets_to": "both"}, "needs group.id"),
        ({"starting": "noon"}, "startingOffsets is 'noon'"),
        ({"options": {"endingOffsets": "latest"}}, "option endingoffsets"),
        ({"options": {"kafka.key.deserializer": "x"}}, "kafka.key.deserializer"),
    ],
)
def test_invalid_settings_are_refused_by_name(change: dict[str, object], named: str) -> None:
    """They are refused before Spark or anything else is started."""
    with pytest.raises(ConfigError, match=named):
        replace(GOOD, **change).checked()  # type: ignore[arg-type]


def test_every_setting_has_a_flag() -> None:
    """Each flag sets its setting."""
    settings = parsed(
        *("--zookeeper", "zk1:2181", "--topics", "a, b", "--to", "s3a://lake/x", "--group", "g"),
        *("--format", "delta", "--continuous", "--no-fail-on-data-loss", "--from", "latest"),
        *("--max-offsets-per-batch", "10", "--interval-ms", "20", "--option", "minPartitions=4"),
        *("--target-option", "AWS_REGION=x=y", "--allow-live-group"),
    )
    assert settings == DrainSettings(
        path="s3a://lake/x",
        zookeeper="zk1:2181",
        topics=("a", "b"),
        group="g",
        format="delta",
        once=False,
        fail_on_data_loss=False,
        starting="latest",
        max_offsets_per_batch=10,
        interval_ms=20,
        options={"minPartitions": "4"},
        target_options={"AWS_REGION": "x=y"},
        allow_live_group=True,
    )


def test_a_command_config_holds_the_security_settings(tmp_path: Path) -> None:
    """It is the file of the other commands; an explicit option overrides it."""
    file = tmp_path / "client.properties"
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" '
    file.write_text(
        "bootstrap.servers=elsewhere:1\nclient.id=x\nsecurity.protocol=SASL_SSL\n"
        f'sasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={jaas}password="hush";\n'
        "ssl.cafile=/a.pem\nzookeeper.auth.scheme=digest\n"
        "zookeeper.auth.username=z\nzookeeper.auth.password=hush\n"
    )
    least = ("--zookeeper", "zk1:2181", "--topics", "a", "--to", "/lake")
    given = (*least, "--command-config", str(file))
    settings = parsed(*given, "--option", "kafka.ssl.cafile=/b.pem")
    address = settings.checked().address
    assert address.broker_security.sasl_username == "u"
    assert address.broker_security.tls.cafile == "/b.pem"
    assert address.security.username == "z"
    assert (address.bootstrap, settings.checked().ranges.client_id) == ((), "zkconsumer-spark")
    assert "hush" not in repr(settings)
    file.write_text("sasl.mechanisms=PLAIN")
    with pytest.raises(ConfigError, match=r"kafka\.sasl\.mechanisms is not known"):
        parsed(*given)
    with pytest.raises(ConfigError, match=r"gone\.properties"):
        parsed(*least, "--command-config", "gone.properties")


def test_a_mirror_needs_a_state_path() -> None:
    """``--to kafka`` and ``--state`` go together."""
    basic = ("--zookeeper", "zk1:2181", "--topics", "a")
    kafka = parsed(
        *(*basic, "--to", "kafka", "--state", "/s", "--target-bootstrap-servers", "b:9092")
    )
    assert (kafka.path, kafka.format) == ("/s", "kafka")
    for wrong in (("--to", "kafka"), ("--to", "/x", "--state", "/s")):
        with pytest.raises(ConfigError, match="--state"):
            parsed(*basic, *wrong)
    with pytest.raises(ConfigError, match="--to is missing"):
        parsed(*basic)


def test_pace_and_lag_are_shown() -> None:
    """Rate, lag and the remaining time are shown, without the time if nothing was landed yet."""
    assert str(DrainPace(30_000, 60_000, 10_000)) == "30,000 landed, 3,000/s, lag 60,000, 20 s left"
    assert str(DrainPace(0, 5, 10_000)) == "0 landed, 0/s, lag 5"
    assert [duration(seconds) for seconds in (99, 100, 5_000, 12_000)] == [
        *("99 s", "2 min", "83 min", "3 h 20 min")
    ]
    tp, lags = TopicPartition("t", 0), []

    class Lags(MeteredProgress):
        def show(self, pace: DrainPace, batch: int | None = None, rows: int = 0) -> None:
            lags.append((pace.lag, batch, rows))

    Lags().on_snapshot({tp: 4}, {tp: 10, TopicPartition("t", 1): 3})
    assert lags == [(9, None, 0)]


def test_the_summary_lists_lost_offsets() -> None:
    """It names the exact ranges."""
    lost = OffsetRange(topic_partition=TopicPartition("t", 0), from_offset=3, until_offset=9)
    report = DrainReport(batches=2, rows=40, expired=(lost,))
    assert summary("/lake", report) == (
        "Landed 40 messages in 2 batches: /lake\nLost before they could be landed: t-0 [3, 9)"
    )


def test_our_error_is_extracted_from_spark_s_stack_trace() -> None:
    """Without an error of ours the first line is shown."""
    text = (
        "[PYTHON_EXCEPTION] An exception was thrown:\nTraceback (most recent call last):\n"
        "  File 'x.py', line 3\nzkconsumer.errors.DataLost: t-0 [3, 9) is lost\n\n\tat java..."
    )
    assert reason(text) == "t-0 [3, 9) is lost"
    assert reason("Job aborted.\n\tat java") == "Job aborted."


@pytest.mark.parametrize(
    ("given", "catalog", "table"),
    [
        ((), None, "kafka.messages"),
        (("--table", "a.b.c"), None, "a.b.c"),
        (("--catalog", "lakehouse"), "lakehouse", "kafka.messages"),
        (("--catalog-property", "uri=http://x"), "default", "kafka.messages"),
    ],
)
def test_an_iceberg_table_has_a_catalog(
    given: tuple[str, ...], catalog: str | None, table: str
) -> None:
    """The drain's own catalog is used unless another is named or configured.

    The identity of the drain keeps the choice.
    """
    least = ("--zookeeper", "zk1:2181", "--topics", "a", "--to", "/lake", "--format", "iceberg")
    settings = parsed(*least, *given)
    assert settings.table_name() == TableName(catalog, table)
    target = settings.identity("id", 0).target
    assert (target is None) == (not given)
    assert TableName.of_target(target) == settings.table_name()
