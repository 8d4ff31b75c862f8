"""Running mirrors, in threads and as processes, and checks of their targets."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.waiting import wait_until
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.mirror.mirror import Mirror, MirrorProgress
from zkconsumer.mirror.partition_totals import PartitionAccount
from zkconsumer.mirror.settings import MirrorSettings, consumer_settings, target_settings
from zkconsumer.mirror.verify import MirrorProof, verify
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer, BatchSettings
from zkconsumer.produce.outgoing import Outgoing
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope

TIMINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "rebalance.backoff.ms": "500",
    "rebalance.max.retries": "20",
    "metadata.max.age.ms": "500",
    "fetch.wait.max.ms": "50",
}
REPOSITORY = Path(__file__).parents[2]
_JOIN_MS = 60_000


def source_settings(cluster: Sandbox, group: str) -> dict[str, object]:
    """Return the settings of a mirror's consumer."""
    config = consumer_settings(
        {**TIMINGS, "zookeeper.connect": cluster.zookeeper_connect, "group.id": group}
    )
    return dict(config.settings)


def mirror_settings(
    cluster: Sandbox, group: str, topics: str, target: str, **changes: Any
) -> MirrorSettings:
    """Return settings of a mirror of a sandbox's topics to ``target`` (bootstrap servers)."""
    values: dict[str, Any] = {
        "topics": Whitelist(topics),
        "consumers": (source_settings(cluster, group),),
        "target": target_settings({"retry.backoff.ms": "100"}, target),
        "commit_interval_ms": 300,
        "create_topics": True,
    }
    return MirrorSettings(**{**values, **changes})


@contextmanager
def running(settings: MirrorSettings, *, grace_ms: int = 5_000) -> Iterator[Mirror]:
    """Run a mirror in a thread during the context; then stop it, and raise its error if any."""
    mirror = Mirror(settings, grace_ms=grace_ms)
    scope = ThreadScope("mirror in a test")

    def run() -> None:
        mirror.run()

    scope.spawn("runner", run, stop=mirror.stop)
    try:
        yield mirror
    finally:
        assert scope.close(_JOIN_MS) == []
    error = scope.first_error()
    if error is not None:
        raise error


def accounts(progress: MirrorProgress) -> Mapping[TopicPartition, PartitionAccount]:
    """Return the counts of each partition of a mirror with one source."""
    return next(iter(progress.sources.values()), {})


def acknowledged(mirror: Mirror) -> int:
    """Return how many messages the target has acknowledged."""
    return mirror.progress().total.acknowledged


def await_acknowledged(mirror: Mirror, count: int) -> None:
    """Wait until the target has acknowledged ``count`` messages."""
    wait_until(lambda: acknowledged(mirror) >= count, what=f"{count} messages in the target")


def write_all(
    brokers: Sequence[Broker],
    records: Mapping[TopicPartition, Sequence[Outgoing]],
    codec: Codec = Codec.NONE,
) -> None:
    """Write records, and wait until all are acknowledged."""
    producer = BatchProducer(brokers, settings=BatchSettings(codec=codec))
    try:
        producer.write(records)
    finally:
        producer.close()


def numbered(tp: TopicPartition, count: int, start: int = 0) -> list[Outgoing]:
    """Return records with partition and number in their values; some have no key, no value."""
    return [
        Record(
            0,
            None if number % 7 == 3 else b"key %d" % (number % 50),
            None if number % 11 == 5 else f"{tp} {number}".encode(),
        )
        for number in range(start, start + count)
    ]


def read_topic(bootstrap_servers: str, topic: str) -> dict[int, list[ConsumerRecord]]:
    """Return all records of a topic by partition."""
    records_by_partition: dict[int, list[ConsumerRecord]] = {}
    with KafkaConsumer(bootstrap_servers=bootstrap_servers) as consumer:
        partitions = [
            TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)
        ]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning()

        def is_through() -> bool:
            for tp, records in consumer.poll(timeout_ms=200).items():
                records_by_partition.setdefault(tp.partition, []).extend(records)
            return all(consumer.position(tp) >= end for tp, end in ends.items())

        wait_until(is_through, what=f"all of {topic}")
    return records_by_partition


def copies_in(values: Mapping[int, Sequence[ConsumerRecord]], wanted: set[bytes]) -> int:
    """Assert that every wanted value is present; return the number of surplus copies.

    Only for messages with distinct values.
    """
    counts = Counter(
        record.value for records in values.values() for record in records if record.value
    )
    missing = wanted - counts.keys()
    assert not missing, f"{len(missing)} are missing, such as {sorted(missing)[:5]}"
    assert counts.keys() <= wanted
    return counts.total() - len(wanted)


def proof_of(cluster: Sandbox, group: str, target: str, offsets_file: Path) -> MirrorProof:
    """Compare source and target."""
    return verify(offsets_file, source_settings(cluster, group), {"bootstrap.servers": target})


class MirrorProcess:
    """``zkconsumer mirror`` as a process.

    Args:
        cluster: the source.
        group: the mirror's group.
        arguments: further arguments of the command.
        folder: the folder for its output.
        module: the module to run; by default the command itself.
    """

    def __init__(
        self,
        cluster: Sandbox,
        group: str,
        *arguments: str,
        folder: Path,
        module: Sequence[str] = ("zkconsumer",),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "consumer.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in TIMINGS.items()))
        self._errors = folder / "stderr"
        self._output = folder / "stdout"
        with self._output.open("wb") as output, self._errors.open("ab") as errors:
            self._process = warm.Popen(
                [
                    *(sys.executable, "-m", *module, "mirror"),
                    *("--consumer.config", str(config), "--zookeeper", cluster.zookeeper_connect),
                    *("--group", group, *arguments),
                ],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )

    @property
    def errors(self) -> str:
        """Its standard error."""
        return self._errors.read_text()

    @property
    def output(self) -> str:
        """Its standard output."""
        return self._output.read_text()

    def wait(self, timeout_s: float = 60) -> int:
        """Wait for its end; return its exit status, negative for a signal."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"it did not end: {self.errors}") from error

    def terminate(self) -> None:
        """Send it ``SIGTERM``."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Freeze it."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it."""
        self._process.send_signal(signal.SIGCONT)
