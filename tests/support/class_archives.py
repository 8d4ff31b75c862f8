"""Make a ``java`` that starts servers, tools and Spark faster, with archives of loaded classes.

``python -m tests.support.class_archives FOLDER kafka|spark`` makes ``FOLDER/bin/java`` for
``JAVA_HOME``: half of the cost of a start is loading thousands of classes, and tests start
hundreds of programs. Each program runs once to a clean exit, when the JVM archives its classes.
A Java without this feature (before 13, or without a default archive) starts everything as usual.
"""

import argparse
import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.java import find_java
from zkconsumer.sandbox.versions import DEFAULT_KAFKA

RECORDING: Final = "ZKCONSUMER_ARCHIVE_CLASSES"
_KAFKAS: Final = (DEFAULT_KAFKA, "1.1.1", "2.8.2", "3.9.1")
_TIMEOUT_S: Final = 120

_WRAPPER: Final = """\
#!/bin/sh
# Made by tests/support/class_archives.py: one archive for each main class on each class path.
main= path= before=
for argument in "$@"; do
    case $before in -cp | -classpath) path=$argument ;; esac
    case $argument in kafka.* | org.apache.*) main=$argument; break ;; esac
    before=$argument
done
[ -n "$main" ] || exec {java} "$@"
loaded=$(echo "$path" | cksum | tr ' ' -).jsa
archive={folder}/$main-$loaded
if [ -n "${{{recording}:-}}" ]; then
    exec {java} -XX:+IgnoreUnrecognizedVMOptions -XX:ArchiveClassesAtExit=$archive "$@"
fi
# A tool loads much of what a broker does, and an executor of what its driver does.
for found in $archive {folder}/*-$loaded; do
    [ -f $found ] && exec {java} -XX:SharedArchiveFile=$found "$@"
done
exec {java} "$@"
"""


def make_wrapper(folder: Path, java: Path) -> None:
    """Write ``folder/bin/java``, which starts ``java`` with the matching archive in ``folder``."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    text = _WRAPPER.format(
        java=shlex.quote(str(java)),
        folder=shlex.quote(str(folder)),
        recording=RECORDING,
    )
    program.write_text(text, "utf-8")
    program.chmod(0o755)


def record_kafka(version: str) -> None:
    """Run a broker, its ZooKeeper and frequently used tools, each to a clean exit."""
    with Sandbox(kafka=version) as sandbox:
        sandbox.create_topic("archived")
        if version == DEFAULT_KAFKA:
            _record_tools(sandbox)
        sandbox.stop_broker(0)
        sandbox.stop_zookeeper()


def _record_tools(sandbox: Sandbox) -> None:
    """Run the console producer and consumer with one message."""
    written = sandbox.run_scala_tool(
        "kafka.tools.ConsoleProducer",
        *("--broker-list", sandbox.bootstrap_servers, "--topic", "archived"),
        stdin=b"one\n",
    )
    assert written.status == 0, written.errors
    read = sandbox.run_scala_tool(
        "kafka.tools.ConsoleConsumer",
        *("--zookeeper", sandbox.zookeeper_connect, "--topic", "archived"),
        *("--from-beginning", "--max-messages", "1"),
    )
    assert read.status == 0, read.errors


def record_spark() -> None:
    """Run a query through Python workers to a Parquet file, and await the end of its JVM."""
    # Spark is not installed in every lane.
    from tests.spark.conftest import SETTINGS  # noqa: PLC0415
    from zkconsumer.spark.session import build_session  # noqa: PLC0415

    session = build_session("archived", master="local[2]", settings=SETTINGS)
    with TemporaryDirectory() as folder:
        rows = session.range(10).mapInArrow(lambda batches: batches, "id long")
        rows.groupBy("id").count().write.parquet(f"{folder}/rows")
    gateway = session.sparkContext._gateway
    assert gateway is not None
    session.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=_TIMEOUT_S)


def main() -> None:
    """Make the wrapper, and one kind of archives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=("kafka", "spark"))
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    make_wrapper(folder, find_java(os.environ))
    os.environ |= {"JAVA_HOME": str(folder), RECORDING: "yes"}
    if arguments.kind == "spark":
        record_spark()
    else:
        with ThreadPoolExecutor() as pool:
            list(pool.map(record_kafka, _KAFKAS))


if __name__ == "__main__":
    main()
