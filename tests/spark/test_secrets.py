"""A secret among a query's options shows in no plan, page, log or checkpoint."""

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.queries import Topic
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

SECRET = "hush-hush-4711"
OPTIONS = {
    # Named as in Kafka, and as in kafka-python.
    "kafka.sasl.jaas.config": f'org.example.PlainLoginModule required password="{SECRET}";',
    "kafka.ssl.key.password": SECRET,
    "kafka.sasl_plain_password": SECRET,
}


def text_of_executions(spark: SparkSession) -> str:
    """Return all text that Spark's SQL page has of the executions so far."""
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    reported = []
    for at in range(executions.size()):
        execution = executions.apply(at)
        reported += [
            execution.physicalPlanDescription(),
            execution.details(),
            execution.description(),
        ]
        reported.append(execution.modifiedConfigs().toString())
    assert reported
    return "\n".join(reported)


def files_in(folder: Path) -> bytes:
    """Return the contents of all files below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_no_plan_shows_a_secret(
    spark: SparkSession,
    cluster: Sandbox,
    tmp_path: Path,
    spark_log: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Neither texts of a batch, sink or stream show it, nor Spark's pages, logs or checkpoints."""
    caplog.set_level(logging.DEBUG, "zkconsumer")
    topic = Topic(cluster)
    topic.write(10)
    frame = topic.read(spark, OPTIONS)
    assert frame.count() == 10
    texts = [frame._jdf.queryExecution().toString(), frame._jdf.toString()]
    frame.explain(extended=True)
    topic.read(spark).select("value").write.format("zkconsumer").mode("append").options(
        **OPTIONS
    ).option("kafka.bootstrap.servers", cluster.bootstrap_servers).option(
        "topic", topic.name
    ).save()
    stream = topic.stream(spark, OPTIONS)
    stream.explain(extended=True)
    query = (
        stream.select("value")
        .writeStream.format("zkconsumer")
        .options(**OPTIONS)
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("topic", topic.name)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    query.explain(extended=True)
    texts += [text_of_executions(spark), caplog.text, *capfd.readouterr()]
    texts += [str(progress) for progress in query.recentProgress]
    texts.append(spark_log.read_text("utf-8", "replace"))
    topic.close()
    assert any("zkconsumer" in text for text in texts)
    found = [text for text in texts if SECRET in text]
    assert found == []
    assert SECRET.encode() not in files_in(tmp_path)
