"""A real HDFS on loopback: NameNode and DataNode in one JVM, from the Hadoop jars of Spark."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from tests.support.waiting import wait_until
from zkconsumer.sandbox.jars import user_cache
from zkconsumer.sandbox.lockfile import Jar, PinnedJar

_OF_SPARK: Final = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "jcl-over-slf4j")
_HADOOP: Final = "3.5.0"
_FETCHED: Final = tuple(
    PinnedJar(Jar.parse(coordinate), sha256)
    for coordinate, sha256 in (
        (
            f"org.apache.hadoop:hadoop-client-minicluster:{_HADOOP}",
            "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
        ),
        # Dependencies of the mini cluster, which Hadoop made for tests.
        (
            "org.junit.jupiter:junit-jupiter-api:5.13.3",
            "1a15a52253a972c82c0dbf77759a983f5afed0583585cdc5b2a3beaa1f4ae0ac",
        ),
        (
            "org.junit.platform:junit-platform-commons:1.13.3",
            "02cd66a55df750a123d8f761e6503e455ac108ff1b365d446e874ba3bc56ca89",
        ),
        (
            "org.opentest4j:opentest4j:1.3.0",
            "48e2df636cab6563ced64dcdff8abb2355627cb236ef0bf37598682ddf742f1b",
        ),
        (
            "org.apiguardian:apiguardian-api:1.1.2",
            "b509448ac506d607319f182537f0b35d71007582ec741832a1f111e5b5b70b38",
        ),
    )
)


@contextmanager
def hdfs_server() -> Iterator[str]:
    """Run an empty HDFS during the context; yield its URL, ``hdfs://host:port``."""
    of_spark = Path(pyspark.__file__).parent / "jars"
    jars = [next(of_spark.glob(f"{name}-[0-9]*.jar")) for name in _OF_SPARK]
    jars += user_cache().class_path(_FETCHED)
    folder = Path(tempfile.mkdtemp(prefix="hdfs-"))
    details = folder / "details.json"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("java", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *(f"-Dtest.build.data={folder / 'data'}", "-cp", ":".join(map(str, jars))),
                *("org.apache.hadoop.test.MiniDFSClusterManager", "-format"),
                *("-datanodes", "1", "-writeDetails", str(details)),
            ],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(
            lambda: (details.exists() and details.stat().st_size > 0) or process.poll() is not None,
            timeout_s=180,
            what=f"HDFS to be there; see {folder}/log",
        )
        assert process.poll() is None, (folder / "log").read_text(errors="replace")
        yield f"hdfs://127.0.0.1:{json.loads(details.read_bytes())['namenode_port']}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
