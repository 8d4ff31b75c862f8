"""Captures small record sets from real brokers: all codecs, both producers, both magics.

Run it with ``python -m tests.golden.capture_records``; it writes ``tests/golden/data``. Magic 0
comes over the wire from 0.8.2.2. Magic 1 is read from the log files of 0.10.2.2, byte for byte,
because a Fetch v0 returns magic 0.

The expected records come from other sources than our own decoder: the lines given to the original's
producer, and for timestamps the original's console consumer.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict

from tests.support.real_topics import (
    CONSOLE_PRODUCER,
    KeyedLine,
    PartitionReader,
    keyed_lines,
    write_lines,
)
from zkconsumer.model import TimestampType
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.sandbox.cluster import Sandbox

DATA = Path(__file__).parent / "data"
LINES = keyed_lines(12)


class GoldenSet(TypedDict):
    """One captured set and its expected records.

    ``records`` are offset, key, value, timestamp and timestamp type; ``cut_off`` means that the set
    ends in the middle of an entry.
    """

    name: str
    source: str
    magic: int
    codec: str
    fetch_offset: int
    cut_off: bool
    hex: str
    records: list[list[str | int]]


def capture() -> None:
    """Write all files again."""
    for version, sets in (("0.8.2.2", capture_fetched), ("0.10.2.2", capture_logged)):
        write(DATA / f"records-{version}.json", version, sets)


def write(path: Path, version: str, sets: Callable[[str], Iterator[GoldenSet]]) -> None:
    """Write the file of one version."""
    path.write_text(json.dumps(list(sets(version)), indent=1) + "\n")


def capture_fetched(version: str) -> Iterator[GoldenSet]:
    """Fetch both producers' records with each codec: whole, from the middle, and truncated."""
    with Sandbox(kafka=version) as cluster:
        reader = PartitionReader(cluster)
        for codec in CODECS_OF_MESSAGES:
            for java in (False, True):
                producer = "Java" if java else "Scala"
                topic = f"{codec.name.lower()}-{producer.lower()}"
                cluster.create_topic(topic)
                write_lines(cluster, topic, LINES, codec, java=java)
                fetches = {"whole": (0, 1 << 20), "from 5": (5, 1 << 20), "cut off": (0, 400)}
                for what, (offset, max_bytes) in fetches.items():
                    if what == "cut off" and codec is not Codec.NONE:
                        continue
                    data = bytes(reader.fetch(topic, offset, max_bytes).records)
                    yield GoldenSet(
                        name=f"{topic} {what}",
                        source=f"Kafka {version}, Fetch v0 from {offset} of {max_bytes} bytes; "
                        f"{CONSOLE_PRODUCER}, {producer} producer, {codec.name.lower()}",
                        magic=0,
                        codec=codec.name,
                        fetch_offset=offset,
                        cut_off=len(data) == max_bytes,
                        hex=data.hex(),
                        records=[
                            [at, *LINES[at], -1, TimestampType.NONE]
                            for at in range(offset, len(LINES))
                        ],
                    )
        reader.close()


def capture_logged(version: str) -> Iterator[GoldenSet]:
    """Read the log files of topics with create time and with append time."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(kafka=version, work_dir=folder) as cluster,
    ):
        for codec in CODECS_OF_MESSAGES:
            for time in ("CreateTime", "LogAppendTime"):
                topic = f"{codec.name.lower()}-{time.lower()}"
                cluster.create_topic(topic, config={"message.timestamp.type": time})
                write_lines(cluster, topic, LINES, codec, java=True)
                stamps = timestamps(cluster, topic, time)
                (log,) = Path(folder).rglob(f"{topic}-0/*.log")
                kind = (
                    TimestampType.CREATE_TIME
                    if time == "CreateTime"
                    else TimestampType.LOG_APPEND_TIME
                )
                yield GoldenSet(
                    name=f"{topic} log",
                    source=f"Kafka {version}, log segment; {CONSOLE_PRODUCER}, Java producer, "
                    f"{codec.name.lower()}, message.timestamp.type={time}",
                    magic=1,
                    codec=codec.name,
                    fetch_offset=0,
                    cut_off=False,
                    hex=log.read_bytes().hex(),
                    records=[[at, *LINES[at], stamp, kind] for at, stamp in enumerate(stamps)],
                )


def timestamps(cluster: Sandbox, topic: str, time: str) -> list[int]:
    """Ask the console consumer for the timestamps of all lines."""
    result = cluster.run_scala_tool(
        "kafka.tools.ConsoleConsumer",
        *("--bootstrap-server", cluster.bootstrap_servers, "--topic", topic),
        *("--from-beginning", "--max-messages", str(len(LINES))),
        *("--property", "print.timestamp=true", "--property", "print.key=true"),
    )
    found: list[KeyedLine] = []
    stamps: list[int] = []
    for line in result.lines:
        stamp, key, value = line.split("\t")
        name, _, number = stamp.partition(":")
        assert name == time, line
        found.append((key, value))
        stamps.append(int(number))
    assert found == LINES, result.errors
    return stamps


if __name__ == "__main__":
    capture()
