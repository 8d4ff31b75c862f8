"""A drain's Spark tasks ask a schema registry seldom, and its password shows nowhere."""

import json
import logging
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.queries import Topic
from tests.spark.test_secrets import files_in, text_of_executions
from tests.support.registry_server import registry_server
from tests.support.schemas import USER, avro_value
from tests.support.traffic import write
from zkconsumer.clock import SystemClock
from zkconsumer.drain import DecodeSettings, DrainSettings, drain, verify
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

SECRET = "hush-hush-4712"
HEADER = "Basic ZHJhaW46aHVzaC1odXNoLTQ3MTI="
PROCESSES = 9
"""At most so many: the driver, and for each of the two threads those that read, decode, write."""


@pytest.mark.parametrize(
    "file_format", [pytest.param("parquet", marks=pytest.mark.versions), "iceberg"]
)
def test_tasks_ask_a_registry_once_per_process(
    spark: SparkSession,
    cluster: Sandbox,
    file_format: str,
    tmp_path: Path,
    spark_log: Path,
    *,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The registry knows one of the two ids that 28 tasks need; no file or log has the password."""
    caplog.set_level(logging.DEBUG, "zkconsumer")
    topic = Topic(cluster, 4, prefix="registry")
    for number in range(4):
        good, unknown = (avro_value(key, USER, {"id": 1, "name": "u"}) for key in (1, 9))
        values = [good, good, unknown] * 3
        write(cluster, TopicPartition(topic.name, number), values)
    topic.close()
    with registry_server() as registry:
        registry.authorization = HEADER
        registry.by_id[1] = {"schema": json.dumps(USER)}
        options = {"basic.auth.user.info": f"drain:{SECRET}"}
        settings = DrainSettings(
            path=str(tmp_path),
            zookeeper=cluster.zookeeper_connect,
            topics=(topic.name,),
            format=file_format,
            max_offsets_per_batch=12,
            decode=DecodeSettings(format="avro", registry=registry.url, registry_options=options),
        )
        began_ms = SystemClock().now_ms()
        report = drain(spark, settings)
        took_s = (SystemClock().now_ms() - began_ms) / 1000
    assert (report.rows, report.dead_lettered, report.batches) == (36, 12, 3)
    requests = Counter(registry.requests)
    assert sorted(requests) == ["/schemas/ids/1", "/schemas/ids/9"]
    assert requests["/schemas/ids/1"] <= PROCESSES, requests
    # An unknown id is requested again after five seconds, by each process.
    assert requests["/schemas/ids/9"] <= PROCESSES * (1 + took_s / 5), requests
    proof = verify(spark, HadoopStorage(spark, str(tmp_path)))
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    log = spark_log.read_text("utf-8", "replace")
    texts = [text_of_executions(spark), caplog.text, log, *capfd.readouterr()]
    assert [text for text in texts if SECRET in text or HEADER in text] == []
    kept = files_in(tmp_path)
    assert SECRET.encode() not in kept
    assert HEADER.encode() not in kept
