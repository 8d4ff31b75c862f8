"""How mirrors behave where MirrorMaker is known to go wrong: ``python -m tests.mirror_faults``.

Each mirror copies a topic from one real cluster 3.9.1 to another, with its default settings, while
something happens to the source or to the mirror. What counts is what the target has at the end.
Prints the table of docs/mirror.md, with status 1 if the page has another. Takes some minutes.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.mirror_faults.copiers import Running, Start, starts
from tests.support.mirror_maker_2 import mirror_maker_2
from tests.support.mirrors import read_topic, write_all
from tests.support.waiting import wait_until
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.model import Record, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import wait_ms

_PAGE = Path(__file__).parents[2] / "docs" / "mirror.md"
_COUNT = 1_000
_TIMEOUT_S = 240
_READ_AHEAD_MS = 8_000
"""By then each has read all messages, whether or not it can write them."""


@dataclass(slots=True)
class Scene:
    """A topic, and a mirror of it.

    Attributes:
        wanted: the values that a mirror could have copied.
        log: the mirror's warnings and errors.
    """

    source: Sandbox
    target: Sandbox
    topic: str
    start: Start
    wanted: set[bytes] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    _written: int = 0

    def write(self, count: int = _COUNT) -> bytes:
        """Write new values into the source; return the last one."""
        values = [b"%d" % (self._written + number) for number in range(count)]
        self._written += count
        self.wanted |= set(values)
        tp = TopicPartition(self.topic, 0)
        write_all(self.source.brokers, {tp: [Record(0, None, value) for value in values]})
        return values[-1]

    def await_arrival(self, value: bytes) -> None:
        """Wait until the target has a message."""

        def found() -> bool:
            with KafkaConsumer(bootstrap_servers=self.target.bootstrap_servers) as consumer:
                if self.topic not in consumer.topics():
                    return False
            return value in self.arrived()

        wait_until(found, timeout_s=_TIMEOUT_S, what=f"{value!r} in the target's {self.topic}")

    def arrived(self) -> Counter[bytes]:
        """Return how often the target has each value."""
        found = read_topic(self.target.bootstrap_servers, self.topic)
        return Counter(record.value or b"" for of in found.values() for record in of)

    @contextmanager
    def mirroring(self) -> Iterator[Running]:
        """Run the mirror, and stop it gracefully at the end unless it was killed."""
        running = self.start(self.topic)
        try:
            yield running
        finally:
            running.stop()
            self.log += running.warnings()

    def outcome(self) -> str:
        """Describe what the target lacks or has twice, and whether the mirror reported it."""
        found = self.arrived()
        lost = len(self.wanted - found.keys())
        copies = found.total() - len(found)
        parts = [f"{lost:,} lost" if lost else "nothing lost"]
        parts += ["some twice"] if copies else []  # how many varies between runs
        about = [line for line in self.log if self.topic in line or line[:3] in ("gap", "cop")]
        parts += ["reported" if about else "silently"] if lost or copies or about else []
        return ", ".join(parts)


def _truncated(scene: Scene) -> None:
    """Retention deletes messages before the mirror has read them."""
    with scene.mirroring():
        scene.await_arrival(scene.write())
    scene.write()
    request = {"topic": scene.topic, "partition": 0, "offset": 2 * _COUNT}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "offsets.json")
        file.write_text(json.dumps({"version": 1, "partitions": [request]}))
        result = scene.source.run_scala_tool(
            "org.apache.kafka.tools.DeleteRecordsCommand",
            *("--bootstrap-server", scene.source.bootstrap_servers),
            *("--offset-json-file", str(file)),
        )
        assert result.status == 0, result.errors
    with scene.mirroring():
        scene.await_arrival(scene.write())


def _recreated(scene: Scene) -> None:
    """The mirror committed an offset of a topic that was deleted and created again."""
    with scene.mirroring():
        scene.await_arrival(scene.write())
    scene.source.delete_topic(scene.topic)
    scene.source.create_topic(scene.topic)
    last = scene.write(2 * _COUNT)
    with scene.mirroring():
        scene.await_arrival(last)


def _killed_before_flush(scene: Scene) -> None:
    """The mirror reads on while the target is paused, and is killed."""
    with scene.mirroring() as running:
        scene.await_arrival(scene.write())
        scene.target.pause_broker(0)
        try:
            scene.write()
            wait_ms(_READ_AHEAD_MS)
            running.kill()
        finally:
            scene.target.resume_broker(0)
    with scene.mirroring():
        scene.await_arrival(scene.write())


def _killed_before_commit(scene: Scene) -> None:
    """The mirror is killed when the target has all messages and nothing is committed."""
    with scene.mirroring() as running:
        scene.await_arrival(scene.write())
        running.kill()
    with scene.mirroring():
        scene.await_arrival(scene.write())


_TRAPS: dict[str, Callable[[Scene], None]] = {
    "the source deletes 1,000 messages before they are copied": _truncated,
    "the topic is deleted and created again, and is longer than it was": _recreated,
    "killed while the target takes nothing": _killed_before_flush,
    "killed before it commits": _killed_before_commit,
}


def _table(numbers: list[int]) -> Iterator[str]:
    with ExitStack() as stack:
        source, target = (stack.enter_context(Sandbox(kafka="3.9.1", brokers=1)) for _ in range(2))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mirrors = starts(source, target, stack.enter_context(mirror_maker_2()), folder)
        yield f"| | {' | '.join(mirrors)} |"
        yield "|---" * (1 + len(mirrors)) + "|"
        for number, (name, play) in enumerate(_TRAPS.items()):
            if numbers and number not in numbers:
                continue
            outcomes: list[str] = []
            for mirror, start in mirrors.items():
                topic = f"trap-{number}-{len(outcomes)}"
                for where in (source, target):
                    where.create_topic(topic)
                scene = Scene(source, target, topic, start)
                play(scene)
                outcomes.append(scene.outcome())
                _note(f"{name}, {mirror}: {outcomes[-1]}", *scene.log)
            yield f"| {name} | {' | '.join(outcomes)} |"


def _note(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"{line[:300]}\n")


def main() -> int:
    """Print the table, and return the status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of traps, from 0")
    page = _PAGE.read_text("utf-8")
    status = 0
    for line in _table(parser.parse_args().only):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        if line not in page:
            status = 1
    if status:
        _note("docs/mirror.md says something else")
    return status


if __name__ == "__main__":
    sys.exit(main())
