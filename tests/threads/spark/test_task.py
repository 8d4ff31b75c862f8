"""What a task does on an executor, with brokers on loopback."""

import pickle
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition

from tests.fakes.loopback import LoopbackServer
from tests.support.ranges import SETTINGS, TP, RangeReaderBench, range_bench, values
from zkconsumer.errors import DataLost
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.net.security import SecuritySettings
from zkconsumer.spark import task as task_module
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.reader import read_task
from zkconsumer.spark.rows import arrow_schema, spark_schema
from zkconsumer.spark.task import connections_for, read_partition
from zkconsumer.wire.api import ApiKey

SCHEMA = arrow_schema(spark_schema())


@pytest.fixture(params=[True, False], ids=["known", "asked"])
def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RangeReaderBench]:
    """A broker on loopback with a hundred records in ``t-0``, and a worker without connections."""
    monkeypatch.setattr(task_module, "_pools", {})
    world = range_bench(are_old=request.param)
    world.net.cluster.append(TP, values(*range(100)))
    with LoopbackServer() as server:
        world.net.brokers.listen_on_loopback(server)
        yield world
        for pool in task_module._pools.values():
            pool.stop()


def partition(
    world: RangeReaderBench, start: int, end: int, **settings: object
) -> ZkInputPartition:
    """Return a task as it arrives on an executor."""
    task = ZkInputPartition(
        range_=OffsetRange(TopicPartition("t", 0), start, end),
        leader=world.leader(),
        brokers=(world.leader(),),
        settings=replace(SETTINGS, **settings),  # type: ignore[arg-type]  # by the caller
        are_old=world.are_old,
    )
    sent = pickle.loads(pickle.dumps(task))
    assert sent == task
    assert isinstance(sent, ZkInputPartition)
    return sent


def offsets_of(batches: Iterator[pa.RecordBatch]) -> list[int]:
    """Return all offsets in order, and check that no batch is empty."""
    found = list(batches)
    assert all(batch.num_rows and batch.schema.equals(SCHEMA) for batch in found)
    return [offset for batch in found for offset in batch.column("offset").to_pylist()]


def test_only_spark_s_placeholder_has_no_rows() -> None:
    """Spark makes one partition if there is none; any other partition must be a task of ours."""
    assert list(read_task(InputPartition(None), SCHEMA)) == []
    for other in (InputPartition(7), object()):
        with pytest.raises(TypeError, match="no task of this source"):
            read_task(other, SCHEMA)  # type: ignore[arg-type]  # on purpose


def test_a_task_reads_its_range_and_a_retry_the_same(world: RangeReaderBench) -> None:
    """There is a batch for each fetch, on one connection, without a lookup of the leader."""
    task = partition(world, 5, 95, fetch_bytes=300)
    assert offsets_of(read_partition(task, SCHEMA)) == list(range(5, 95))
    assert offsets_of(read_partition(task, SCHEMA)) == list(range(5, 95))
    requests = world.net.brokers[0].requests
    first = next(at for at, request in enumerate(requests) if request.api_key is ApiKey.FETCH)
    # A broker that is known to be old is sent no request for its versions.
    assert (first == 0) == world.are_old
    requests = requests[first:]
    assert {request.api_key for request in requests} == {ApiKey.FETCH}
    assert {request.version for request in requests} == {0}
    # The second task's requests continue the first one's correlation ids.
    assert [request.correlation_id for request in requests] == list(range(len(requests)))


def test_an_empty_range_sends_no_request(world: RangeReaderBench) -> None:
    """There is nothing to read."""
    assert offsets_of(read_partition(partition(world, 7, 7), SCHEMA)) == []
    assert world.net.brokers[0].requests == []


def test_lost_offsets_end_the_task_or_are_logged(
    world: RangeReaderBench, caplog: pytest.LogCaptureFixture
) -> None:
    """``failOnDataLoss`` decides; both name the exact offsets."""
    world.net.cluster.log(TP).delete_before(40)
    with pytest.raises(DataLost, match=r"\[5, 40\)"):
        list(read_partition(partition(world, 5, 95), SCHEMA))
    task = partition(world, 5, 95, fail_on_data_loss=False)
    assert offsets_of(read_partition(task, SCHEMA)) == list(range(40, 95))
    assert "t-0 [5, 40) is lost: the log begins at offset 40" in caplog.text


def test_a_limit_ends_a_task_early(world: RangeReaderBench) -> None:
    """The next task is not affected."""
    task = partition(world, 0, 100, fetch_bytes=300)
    batches = read_partition(task, SCHEMA)
    next(batches)
    batches.close()  # type: ignore[attr-defined]  # it is a generator
    assert offsets_of(read_partition(task, SCHEMA)) == list(range(100))


def test_connections_are_kept_by_their_settings(world: RangeReaderBench) -> None:
    """Client id, time-outs, security and assumed versions count, and nothing else."""
    task = partition(world, 0, 9)
    kept = connections_for(task)
    assert connections_for(partition(world, 0, 5, fetch_bytes=5)) is kept
    assert connections_for(partition(world, 0, 9, client_id="other")) is not kept
    assert connections_for(replace(task, are_old=not task.are_old)) is not kept
    secured = SecuritySettings(protocol="SSL")
    assert connections_for(replace(task, security=secured)) is not kept


def test_the_repr_of_a_task_has_no_secret(world: RangeReaderBench) -> None:
    """It may be logged, and shown in Spark's pages; the pickled task still has the password."""
    secured = SecuritySettings(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="me",
        sasl_password="hush-hush",
    )
    task = replace(partition(world, 0, 9), security=secured)
    assert "hush" not in f"{task!r}{task}"
    assert pickle.loads(pickle.dumps(task)).security.sasl_password == "hush-hush"
