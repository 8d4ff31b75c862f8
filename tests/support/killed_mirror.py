"""A mirror that kills itself at an exact point: ``killed_mirror POINT NUMBER mirror ...``.

It sends itself ``SIGKILL`` when it reaches the point for the NUMBERth time. Points are before or
after ("behind") a mirror's steps write, line, sync, commit. ``within-line`` leaves a partial line.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from zkconsumer.cli.main import main
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.mirror.landed import to_line
from zkconsumer.mirror.offsets_file import OffsetsFile
from zkconsumer.produce.batch_producer import BatchProducer

_STEPS: Final[dict[str, tuple[type, str]]] = {
    "write": (BatchProducer, "write"),
    "line": (OffsetsFile, "append"),
    "sync": (OffsetsFile, "sync"),
    "commit": (KafkaConsumer, "commit"),
}
POINTS: Final = (
    *("before-write", "behind-write", "within-line"),
    *("behind-line", "behind-sync", "behind-commit"),
)
"""Each leaves target, offsets file and group in another combination of states."""


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _arm(point: str, number: int) -> None:
    when, _, step = point.partition("-")
    owner, name = _STEPS[step]
    original: Callable[..., Any] = getattr(owner, name)
    left = number

    def armed(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and when == "before":
            _die()
        if left == 0 and when == "within":
            file, landed = args
            file._file.write(b"".join(map(to_line, landed))[:-9])
            _die()
        result = original(*args, **kwargs)
        if left == 0 and when == "behind":
            _die()
        return result

    setattr(owner, name, armed)


if __name__ == "__main__":
    _arm(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
