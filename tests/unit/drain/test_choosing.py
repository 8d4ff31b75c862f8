"""Which engine runs a drain command."""

import pytest

from zkconsumer.drain.choosing import (
    EngineRequest,
    SparkOptions,
    beyond_local,
    choose,
    local_path,
    scheme_of,
)
from zkconsumer.errors import ConfigError

SPARK = SparkOptions(master="local[2]")


@pytest.mark.parametrize(
    ("wanted", "environ", "engine"),
    [
        (EngineRequest(engine="auto", path="/lake"), {}, "local"),
        (
            EngineRequest(engine="auto", path="file:/lake", format="json"),
            {"SPARK_HOME": "/opt"},
            "local",
        ),
        (EngineRequest(engine="auto", path="/lake", spark=SPARK), {}, "spark"),
        (EngineRequest(engine="auto", path="/lake"), {"PYSPARK_GATEWAY_PORT": "9"}, "spark"),
        (EngineRequest(engine="auto", path="/lake"), {"SPARK_REMOTE": "sc://h"}, "spark"),
        (
            EngineRequest(engine="auto", path="/lake", memory_mb=512),
            {"SPARK_REMOTE": "sc://h"},
            "local",
        ),
        (EngineRequest(engine="auto", path="hdfs://nn/lake"), {}, "spark"),
        (EngineRequest(engine="auto", path="s3a://lake/kafka"), {}, "spark"),
        (EngineRequest(engine="auto", path="/lake"), {"HADOOP_CONF_DIR": "/etc/hadoop"}, "spark"),
        (EngineRequest(engine="auto", path="/lake"), {"YARN_CONF_DIR": "/etc/hadoop"}, "spark"),
        (
            EngineRequest(engine="auto", path="file:/lake"),
            {"HADOOP_CONF_DIR": "/etc/hadoop"},
            "local",
        ),
        (
            EngineRequest(engine="auto", path="s3://b/k"),
            {"HADOOP_CONF_DIR": "/etc/hadoop"},
            "local",
        ),
        (EngineRequest(engine="local", path="/lake"), {"HADOOP_CONF_DIR": "/etc/hadoop"}, "local"),
        (EngineRequest(engine="local", path="s3a://lake/kafka"), {}, "local"),
        (EngineRequest(engine="auto", path="s3://lake/kafka"), {}, "local"),
        (EngineRequest(engine="local", path="hdfs://nn/lake", format="delta"), {}, "local"),
        (EngineRequest(engine="auto", path="hdfs://nn/lake", memory_mb=512), {}, "local"),
        (EngineRequest(engine="auto", path="/state", format="kafka"), {}, "spark"),
        (EngineRequest(engine="spark", path="/lake"), {}, "spark"),
        (
            EngineRequest(engine="local", path="/lake", format="delta"),
            {"SPARK_REMOTE": "x"},
            "local",
        ),
    ],
)
def test_the_local_engine_runs_unless_spark_is_configured_or_needed(
    wanted: EngineRequest, environ: dict[str, str], engine: str
) -> None:
    """``auto`` chooses the local engine if it supports the target and Spark is not configured."""
    assert choose(wanted, environ) == engine


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (EngineRequest(engine="local", path="abfs://c/lake"), r"abfs://.*use --engine spark"),
        (
            EngineRequest(engine="local", path="/s", format="kafka"),
            r"--to kafka: use --engine spark",
        ),
        (
            EngineRequest(engine="local", path="/lake", spark=SPARK),
            r"--master is for --engine spark",
        ),
        (
            EngineRequest(engine="local", path="/lake", memory_mb=5),
            r"--memory is 5: it must be 192 or more",
        ),
        (
            EngineRequest(engine="spark", path="/lake", memory_mb=512),
            r"--memory is for --engine local",
        ),
        (
            EngineRequest(engine="auto", path="/lake", memory_mb=512, spark=SPARK),
            r"--memory is for --engine local, and --master for --engine spark",
        ),
        (EngineRequest(engine="auto", path="abfs://c/lake", memory_mb=512), r"use --engine spark"),
    ],
)
def test_an_impossible_choice_is_refused(wanted: EngineRequest, message: str) -> None:
    """The error is one line that says what to do instead."""
    with pytest.raises(ConfigError, match=message) as refused:
        choose(wanted, {})
    assert "\n" not in str(refused.value)


def test_schemes_and_drive_letters_are_distinguished() -> None:
    """A path without a scheme is a local one."""
    assert [scheme_of(path) for path in ("/a", "a:b/c", "S3A://b/k", "file:///x", "a b:c")] == [
        *("file", "file", "s3a", "file", "file")
    ]
    assert [scheme_of(path) for path in ("my-fs://x", "FILE:/x", "git+s3:x", "é:x", "")] == [
        *("my-fs", "file", "git+s3", "file", "file")
    ]
    assert beyond_local("/lake", None) is None


def test_a_local_path_may_have_a_file_scheme() -> None:
    """Percent-encoding is decoded only after ``file:``, in any case."""
    given = ("file:/a%20b", "FILE:///a", "/a%20b", "a:b/c", "s3://b/k")
    assert [local_path(path) for path in given] == ["/a b", "/a", "/a%20b", "a:b/c", "s3://b/k"]
