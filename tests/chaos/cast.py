"""The members of the group as processes, and what each has delivered so far."""

import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import ScalaTool
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess, SupervisedProcesses

FREEZE, THAW = signal.SIGSTOP, signal.SIGCONT
REPOSITORY = Path(__file__).parents[2]


class Given(NamedTuple):
    """A message that was delivered.

    Attributes:
        value: which one.
        consumer_id: to whom.
        asked_ms: a moment before it was delivered, since the epoch.
        given_ms: a moment after it.
        where: what the member says where it lay; None where it does not say.
    """

    value: str
    consumer_id: str
    asked_ms: int
    given_ms: int
    where: tuple[TopicPartition, int] | None


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """What a member of ours reported after its shutdown."""

    stuck: tuple[str, ...]
    threads: tuple[str, ...]
    descriptors: tuple[str, ...]


class Actor(Protocol):
    """A member in a process of its own."""

    consumer_id: str
    original: bool

    def take(self) -> list[Given]:
        """What it delivered since the last call."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal."""
        ...

    def kill(self) -> None:
        """``SIGKILL``, and wait for the end."""
        ...

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        ...

    def stop(self, timeout_ms: int) -> bool:
        """``SIGTERM``; False where it had to be killed when the time was over."""
        ...


class _Tail:
    """Reads a file that grows, whole lines only: what a kill cut off does not count."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at = 0

    def lines(self) -> list[str]:
        try:
            with self._file.open("rb") as opened:
                opened.seek(self._at)
                data = opened.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole.decode().splitlines()


class OurActor:
    """A process of ``tests.chaos.member``.

    Args:
        processes: kills it when this process ends.
        folder: a new one, for its files.
        settings: of the consumer.
        topics: streams by topic, or a filter as text.
    """

    original = False

    def __init__(
        self,
        processes: SupervisedProcesses,
        folder: Path,
        settings: Mapping[str, str],
        topics: Mapping[str, int] | str,
    ) -> None:
        folder.mkdir(parents=True)
        self.consumer_id = f"{settings['group.id']}_{settings['consumer.id']}"
        self.errors: list[str] = []
        self.left_behind: LeftBehind | None = None
        account = folder / "account"
        plan = {
            "settings": dict(settings),
            "topics": {} if isinstance(topics, str) else dict(topics),
            "whitelist": topics if isinstance(topics, str) else "",
            "account": str(account),
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        self._tail = _Tail(account)
        files = ChildFiles(stdout=folder / "stdout", stderr=folder / "stderr")
        self._folder = folder
        self._process: ChildProcess = processes.spawn(
            [sys.executable, "-m", "tests.chaos.member", str(folder / "plan.json")],
            cwd=REPOSITORY,
            files=files,
        )

    def take(self) -> list[Given]:
        """See ``Actor``."""
        return [one for one in map(self._read, self._tail.lines()) if one is not None]

    def _read(self, line: str) -> Given | None:
        kind, *fields = line.split("\t")
        if kind == "D":
            topic, partition, offset, asked_ms, given_ms, value = fields
            where = (TopicPartition(topic, int(partition)), int(offset))
            return Given(value, self.consumer_id, int(asked_ms), int(given_ms), where)
        if kind == "E":
            self.errors.append(" ".join(fields[1:]))
        if kind == "Z":
            left = json.loads(fields[0])
            descriptors = tuple(name for _, name in left["open"])
            self.left_behind = LeftBehind(tuple(left["stuck"]), tuple(left["threads"]), descriptors)
        return None

    def last_words(self) -> str:
        """The end of what it wrote on its standard error."""
        return (self._folder / "stderr").read_text("utf-8", "replace").strip()[-2000:]

    def signal(self, number: int) -> None:
        """See ``Actor``."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """See ``Actor``."""
        self._process.kill()

    def poll(self) -> int | None:
        """See ``Actor``."""
        return self._process.poll()

    def stop(self, timeout_ms: int) -> bool:
        """See ``Actor``."""
        return self._process.stop(timeout_ms)


class ScalaActor:
    """The original's console consumer. It tells values only, and when is seen by looking often."""

    original = True

    def __init__(self, tool: ScalaTool, consumer_id: str) -> None:
        self.consumer_id = consumer_id
        self._tool = tool
        self._tail = _Tail(tool.folder / "stdout")
        self._clock = SystemClock()
        self._looked_ms = self._clock.wall_ms()

    def take(self) -> list[Given]:
        """See ``Actor``."""
        since_ms = self._looked_ms
        self._looked_ms = self._clock.wall_ms()
        lines = self._tail.lines()
        now_ms = self._clock.wall_ms()
        return [Given(line, self.consumer_id, since_ms, now_ms, None) for line in lines]

    def signal(self, number: int) -> None:
        """See ``Actor``."""
        if number == FREEZE:
            self._tool.pause()
        else:
            assert number == THAW
            self._tool.resume()

    def kill(self) -> None:
        """See ``Actor``."""
        self._tool.kill()

    def poll(self) -> int | None:
        """See ``Actor``."""
        return self._tool.poll()

    def stop(self, timeout_ms: int) -> bool:
        """See ``Actor``."""
        return self._tool.stop(timeout_ms)
