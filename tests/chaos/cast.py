"""The members of the group as processes, and what each has delivered so far."""

import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.histories.recorder import LineTail
from zkconsumer.clock import SystemClock
from zkconsumer.sandbox import ScalaTool
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess, SupervisedProcesses

SLEEP, THAW = signal.SIGSTOP, signal.SIGCONT
REPOSITORY = Path(__file__).parents[2]

Operation = dict[str, Any]


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

    def take(self) -> list[Operation]:
        """What it wrote down since the last call."""
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
        history = self._history = folder / "history"
        plan = {
            "settings": dict(settings),
            "topics": {} if isinstance(topics, str) else dict(topics),
            "whitelist": topics if isinstance(topics, str) else "",
            "history": str(history),
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        self._tail = LineTail(history)
        files = ChildFiles(stdout=folder / "stdout", stderr=folder / "stderr")
        self._folder = folder
        self._process: ChildProcess = processes.spawn(
            [sys.executable, "-m", "tests.chaos.member", str(folder / "plan.json")],
            cwd=REPOSITORY,
            files=files,
        )

    def take(self) -> list[Operation]:
        """See ``Actor``."""
        operations: list[Operation] = [json.loads(line) for line in self._tail.take()]
        for operation in operations:
            if operation.get("error"):
                self.errors.append(operation["error"])
            if "left" in operation:
                left = operation["left"]
                open_ones = tuple(name for _, name in left["open"])
                self.left_behind = LeftBehind(
                    tuple(left["stuck"]), tuple(left["threads"]), open_ones
                )
        return operations

    def can_leave(self) -> bool:
        """Whether it has come so far that it leaves when it is told to."""
        return self._history.exists()

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
        self._tail = LineTail(tool.folder / "stdout")
        self._clock = SystemClock()
        self._last_read_ms = self._clock.wall_ms()

    def take(self) -> list[Operation]:
        """See ``Actor``."""
        since_ms = self._last_read_ms
        self._last_read_ms = self._clock.wall_ms()
        messages = [[None, None, None, line] for line in self._tail.take()]
        poll = {"process": self.consumer_id, "type": "ok", "f": "poll", "member": self.consumer_id}
        when = {"since": since_ms, "time": self._clock.wall_ms()}
        return [{**poll, **when, "messages": messages}] if messages else []

    def signal(self, number: int) -> None:
        """See ``Actor``."""
        if number == SLEEP:
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
