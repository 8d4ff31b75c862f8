"""Our mirror beside the original's mirror maker: ``python -m tests.benchmarks.mirror``.

Both bring the same topic from one real broker to another, with one stream each and four partitions,
once with small messages and once with larger ones. Counted is from the first message that arrives
to the last one, so that nobody's start is in it. Prints messages a second and the ratio.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from tests.interop.tools.test_mirror_maker import MirrorMaker, counts_in
from tests.support.mirrors import mirror_settings, running, write_all
from tests.support.traffic import partitions_of
from zkconsumer.clock import SystemClock
from zkconsumer.model import Record
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import wait_ms

_PARTITIONS = 4
_CASES = (("100 bytes", 100, 100_000), ("1 KiB", 1_024, 40_000))
_LOOK_MS = 20
_PRODUCER = {
    "producer.type": "async",
    "batch.num.messages": "2000",
    "queue.buffering.max.ms": "50",
    "queue.enqueue.timeout.ms": "-1",
}
"""The original's at its best: many messages in a request, and none dropped."""


def _fill(cluster: Sandbox, topic: str, size: int, count: int) -> None:
    partitions = partitions_of(topic, _PARTITIONS)
    cluster.create_topic(topic, partitions=_PARTITIONS)
    for _ in range(10):
        records = [Record(0, b"key %d" % n, b"x" * size) for n in range(count // 10)]
        write_all(cluster.brokers, dict.fromkeys(partitions, records))


def _measure(
    target: Sandbox, topic: str, total: int, start: Callable[[], AbstractContextManager[Any]]
) -> float:
    """Messages a second, from the first that arrive to the last."""
    clock, partitions = SystemClock(), partitions_of(topic, _PARTITIONS)
    with start():
        while not (first := counts_in(target, partitions)):
            wait_ms(_LOOK_MS)
        began_ms = clock.now_ms()
        while counts_in(target, partitions) < total:
            wait_ms(_LOOK_MS)
        return (total - first) / (clock.now_ms() - began_ms) * 1_000


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run it."""
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(Sandbox(kafka="0.8.2.2", brokers=1)) for _ in range(2)
        )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        makers = MirrorMaker(source, target, folder, _PRODUCER)
        _write("| messages | ours | mirror maker | ratio |\n|---|---|---|---|")
        for name, size, count in _CASES:
            rates: list[float] = []
            for who in ("ours", "theirs"):
                topic = f"{who}-{size}"
                _fill(source, topic, size, count)
                target.create_topic(topic, partitions=_PARTITIONS)

                def start(topic: str = topic, who: str = who) -> AbstractContextManager[Any]:
                    if who == "theirs":
                        return makers.start(topic, topic)
                    settings = mirror_settings(source, topic, topic, target.bootstrap_servers)
                    return running(settings)

                rates.append(_measure(target, topic, _PARTITIONS * count, start))
            ours, theirs = rates
            _write(f"| {name} | {ours:,.0f}/s | {theirs:,.0f}/s | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
