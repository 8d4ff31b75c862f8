"""A bucket as the storage of Spark's drain: ``s3a://``, on a server with S3's protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.queries import Topic
from tests.support.clusters import fresh_name
from tests.support.hadoop_aws import s3a_settings
from tests.support.s3_server import BUCKET, catalog_of, s3_server
from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain import DrainSettings, drain, drain_locally, verify, verify_locally
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_delta import DeltaLanding
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.local.iceberg_landing import IcebergLanding
from zkconsumer.drain.local.object_storage import ObjectStorage
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.drain.storage import StoredFile
from zkconsumer.errors import ConfigError, DrainError
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]


@contextmanager
def bucket(spark: SparkSession, *, ignores_conditions: bool = False) -> Iterator[None]:
    """Run a server with an empty bucket, and point the session's ``s3a://`` to it."""
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    with s3_server(ignores_conditions=ignores_conditions):
        settings = s3a_settings()
        before = {name: hadoop.get(name) for name in settings}
        for name, value in settings.items():
            hadoop.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    hadoop.unset(name)
                else:
                    hadoop.set(name, value)


@pytest.fixture(scope="module")
def server(spark: SparkSession) -> Iterator[None]:
    """Start one server for all tests of this module."""
    with bucket(spark):
        yield


@pytest.fixture
def storage(spark: SparkSession, server: None) -> HadoopStorage:
    """Give an empty folder of the bucket, whose name has a space."""
    del server
    return HadoopStorage(spark, f"s3a://{BUCKET}/{fresh_name('drain')}/a drain")


def test_creating_an_object_that_another_client_created_fails(storage: HadoopStorage) -> None:
    """The server refuses it for both engines; an object of the same content counts as created."""
    local = ObjectStorage(storage.uri(""))
    assert storage.create("plans/1.json", b"{1}")
    assert not local.create("plans/1.json", b"{2}")
    assert local.create("plans/2.json", b"{2}")
    assert not storage.create("plans/2.json", b"{1}")
    assert storage.create("plans/2.json", b"{2}")
    assert (storage.read("plans/1.json"), storage.read("plans/2.json")) == (b"{1}", b"{2}")


def test_a_folder_with_only_a_marker_is_not_listed(storage: HadoopStorage) -> None:
    """Hadoop creates a marker when it moves the last file out: that is no staged batch."""
    local = ObjectStorage(storage.uri(""))
    storage.create("staging/1/x/a", b"1")
    storage.create("staging/2/x/b", b"1")
    for engine in (storage, local):
        assert sorted(engine.names("staging")) == ["1", "2"]
    storage.move("staging/1/x/a", "topic=t/a")
    for engine in (storage, local):
        assert engine.names("staging") == ["2"]
        assert engine.names("staging/1") == []
    assert sorted(local.names("")) == ["staging", "topic=t"]


def test_a_store_that_heeds_conditions_is_accepted(storage: HadoopStorage) -> None:
    """The probe leaves nothing behind."""
    BatchJournal(storage).probe("a")
    assert storage.files("") == []


def test_a_store_that_ignores_conditions_is_refused(spark: SparkSession) -> None:
    """Two drains there would replace each other's batches, even if each checks before it writes."""
    with bucket(spark, ignores_conditions=True):
        storage = HadoopStorage(spark, f"s3a://{BUCKET}/drain")
        storage.create("plans/1.json", b"{1}")
        with pytest.raises(
            ConfigError, match=r"s3a://lake/drain: the store replaces an existing file"
        ):
            BatchJournal(storage).probe("a")
        assert storage.files("") == [StoredFile("plans/1.json", 3)]


def test_a_missing_bucket_is_named(spark: SparkSession, server: None) -> None:
    """The error has the bucket's URL."""
    del server
    with pytest.raises(DrainError, match=r"s3a://nobody/x.*nobody"):
        HadoopStorage(spark, "s3a://nobody/x").create("a", b"1")


MANUAL = pytest.mark.versions
"""Formats differ in publishing, which tests of folders and of the local engine cover in CI."""


class Killed(BaseException):
    """The process is killed: no handler of an ``Exception`` runs."""


def die(*_: object) -> None:
    """Replace a step, and die there."""
    raise Killed


LANDINGS: dict[str, type] = {"delta": DeltaLanding, "iceberg": IcebergLanding}


@pytest.mark.parametrize(
    "file_format",
    ["parquet", *(pytest.param(kind, marks=MANUAL) for kind in ("json", "delta", "iceberg"))],
)
def test_a_drain_continues_with_the_other_engine(
    spark: SparkSession,
    cluster: Sandbox,
    server: None,
    file_format: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed before a batch is published, finished without Spark, proven by both engines.

    A second run has nothing to do; a different drain to the path is refused.
    """
    del server
    topic = Topic(cluster, 2, prefix="bucket")
    topic.write(20)
    path = f"s3a://{BUCKET}/{fresh_name('drain')}"
    options = catalog_of(path, tmp_path) if file_format == "iceberg" else {}
    settings = DrainSettings(
        path=path,
        zookeeper=cluster.zookeeper_connect,
        topics=(topic.name,),
        format=file_format,
        target_options=options,
        max_offsets_per_batch=64,
    )
    with monkeypatch.context() as patch:
        patch.setattr(LANDINGS.get(file_format, FilesLanding), "publish", die)
        with pytest.raises(Killed):
            drain(spark, settings)
    assert drain_locally(settings).finished
    topic.write(4)
    rows = [drain(spark, settings).rows for _ in range(2)]
    assert rows == [8, 0]
    topic.close()
    with pytest.raises(ConfigError, match="another"):
        drain(spark, replace(settings, topics=(topic.name, "other")))
    where = {"zookeeper.connect": cluster.zookeeper_connect}
    for proof in (
        verify(spark, HadoopStorage(spark, path), cluster=where, target_options=options),
        verify_locally(path, cluster=where, target_options=options),
    ):
        assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
        assert sum(part.coverage.rows for part in proof.partitions) == 48
