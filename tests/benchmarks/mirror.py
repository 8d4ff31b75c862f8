"""Our mirror compared with the original's two: ``python -m tests.benchmarks.mirror``.

MirrorMaker of 0.8.2.2 runs between brokers of that version, MirrorMaker 2 of 3.9.1 between brokers
of 3.9.1. Each copies topics of the same content from one real broker to another, as a process with
one stream and four partitions, once with small messages and once with larger ones. Time is measured
from the first message that arrives to the last one, so start-up is not included. Prints messages
per second, medians of rounds in which the two take turns, and the ratios within the rounds.

  --rounds 5
  --kafka 0.8.2.2,3.9.1   the versions of the brokers
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from tests.benchmarks.bounds import mirror_goals
from tests.benchmarks.markdown import row_of
from tests.interop.tools.test_mirror_maker import MirrorMaker
from tests.support.mirror_maker_2 import MirrorMaker2, mirror_maker_2
from tests.support.mirrors import MirrorProcess, write_all
from tests.support.traffic import partitions_of
from zkconsumer.clock import SystemClock
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.model import Record
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import wait_ms

_PARTITIONS: Final = 4
_CASES: Final = (("100 bytes", 100, 100_000), ("1 KiB", 1_024, 40_000))
_LOOK_MS: Final = 20
_FULL_JIT: Final = ("-XX:TieredStopAtLevel=4",)
"""Undoes the sandbox's limit to quick compilation, which suits tools that run for seconds."""

_PRODUCER: Final = {
    "producer.type": "async",
    "batch.num.messages": "2000",
    "queue.buffering.max.ms": "50",
    "queue.enqueue.timeout.ms": "-1",
}
"""The fastest settings of MirrorMaker: many messages in a request, and none dropped."""

_MIRROR_MAKER_2: Final = {
    "source.consumer.max.poll.records": "20000",
    "source.consumer.max.partition.fetch.bytes": "4194304",
    "target.producer.batch.size": "524288",
    "target.producer.linger.ms": "20",
    "target.producer.buffer.memory": "134217728",
    "offset.flush.interval.ms": "10000",
}
"""The fastest settings of MirrorMaker 2: large polls and batches."""

Mirror = Callable[[str], AbstractContextManager[object]]
"""Runs a mirror of a topic for as long as the context lasts."""


def _fill(cluster: Sandbox, topic: str, size: int, count: int) -> None:
    partitions = partitions_of(topic, _PARTITIONS)
    cluster.create_topic(topic, partitions=_PARTITIONS)
    for _ in range(10):
        records = [Record(0, b"key %d" % n, b"x" * size) for n in range(count // 10)]
        write_all(cluster.brokers, dict.fromkeys(partitions, records))


def _measure(target: Sandbox, topic: str, total: int, mirror: Mirror) -> float:
    """Return the messages per second, from the first that arrive to the last."""
    clock, partitions = SystemClock(), partitions_of(topic, _PARTITIONS)
    with KafkaConsumer(bootstrap_servers=target.bootstrap_servers) as consumer, mirror(topic):

        def await_count(wanted: int) -> int:
            while (count := sum(consumer.end_offsets(partitions).values())) < wanted:
                wait_ms(_LOOK_MS)
            return count

        first = await_count(1)
        began_ms = clock.now_ms()
        await_count(total)
        return (total - first) / (clock.now_ms() - began_ms) * 1_000


def _ours(source: Sandbox, target: Sandbox, folder: Path) -> Mirror:
    @contextmanager
    def mirror(topic: str) -> Iterator[None]:
        servers = target.bootstrap_servers
        arguments = ("--whitelist", topic, "--target-bootstrap-servers", servers)
        process = MirrorProcess(source, topic, *arguments, folder=folder / topic)
        try:
            yield
        finally:
            process.kill()

    return mirror


def _theirs(
    source: Sandbox, target: Sandbox, folder: Path, second: MirrorMaker2 | None
) -> tuple[str, Mirror]:
    if second is None:
        maker = MirrorMaker(source, target, folder, _PRODUCER)
        return "MirrorMaker", lambda topic: maker.start(topic, topic, flags=_FULL_JIT)

    def mirror(topic: str) -> AbstractContextManager[object]:
        return second.start(source, target, topic, changes=_MIRROR_MAKER_2, flags=_FULL_JIT)

    return "MirrorMaker 2", mirror


def _table(kafka: str, rounds: int) -> Iterator[str]:
    with ExitStack() as stack:
        source, target = (stack.enter_context(Sandbox(kafka=kafka, brokers=1)) for _ in range(2))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        second = stack.enter_context(mirror_maker_2()) if kafka == "3.9.1" else None
        name, theirs = _theirs(source, target, folder, second)
        mirrors = {"ours": _ours(source, target, folder), "theirs": theirs}
        yield row_of(
            ("messages", "ours", f"{name} of {kafka}", "ratio", "lowest - highest", "wanted")
        )
        yield "|---|---|---|---|---|---|"
        for case, size, count in _CASES:
            rates: dict[str, list[float]] = {mirror: [] for mirror in mirrors}
            for turn in range(rounds):
                for mirror in sorted(mirrors, reverse=bool(turn % 2)):
                    topic = f"{mirror}-{size}-{turn}"
                    _fill(source, topic, size, count)
                    target.create_topic(topic, partitions=_PARTITIONS)
                    rate = _measure(target, topic, _PARTITIONS * count, mirrors[mirror])
                    rates[mirror].append(rate)
            ratios = [a / b for a, b in zip(rates["ours"], rates["theirs"], strict=True)]
            medians = (f"{median(rates[mirror]):,.0f}/s" for mirror in mirrors)
            spread = f"{min(ratios):.2f} - {max(ratios):.2f}"
            goal = mirror_goals()[case]
            wanted = f"at least {goal:g}: {'reached' if median(ratios) >= goal else 'MISSED'}"
            yield row_of((case, *medians, f"{median(ratios):.2f}", spread, wanted))


def main(argv: Sequence[str]) -> None:
    """Measure and print a table for each version."""
    parser = argparse.ArgumentParser(
        prog="make bench-mirror", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kafka", default="0.8.2.2,3.9.1")
    options = parser.parse_args(argv)
    for kafka in options.kafka.split(","):
        for line in _table(kafka, options.rounds):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
