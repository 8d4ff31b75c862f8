"""The group's members as processes, and what each has delivered so far."""

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

SUSPEND, RESUME = signal.SIGSTOP, signal.SIGCONT
REPOSITORY = Path(__file__).parents[2]

Operation = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The threads and descriptors that a member of ours still had after its shutdown."""

    stuck: tuple[str, ...]
    threads: tuple[str, ...]
    descriptors: tuple[str, ...]


class MemberProcess(Protocol):
    """A member in a process of its own."""

    consumer_id: str
    original: bool

    def take(self) -> list[Operation]:
        """Return the operations that it recorded since the last call."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal."""
        ...

    def kill(self) -> None:
        """Send ``SIGKILL``, and wait for the end."""
        ...

    def poll(self) -> int | None:
        """Return its exit status, or None while it runs."""
        ...

    def stop(self, timeout_ms: int) -> bool:
        """Send ``SIGTERM``; return False if it had to be killed after the timeout."""
        ...


class OurMember:
    """A process of ``tests.chaos.member``.

    Args:
        processes: kills it when this process ends.
        folder: a new one, for its files.
        settings: those of the consumer.
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
        self.leftovers: Leftovers | None = None
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
        """See ``MemberProcess``."""
        operations: list[Operation] = [json.loads(line) for line in self._tail.take()]
        for operation in operations:
            if operation.get("error"):
                self.errors.append(operation["error"])
            if "left" in operation:
                left = operation["left"]
                descriptors = tuple(name for _, name in left["open"])
                self.leftovers = Leftovers(
                    tuple(left["stuck"]), tuple(left["threads"]), descriptors
                )
        return operations

    def can_leave(self) -> bool:
        """Tell whether it handles ``SIGTERM`` already."""
        return self._history.exists()

    def stderr_tail(self) -> str:
        """Return the end of its standard error."""
        return (self._folder / "stderr").read_text("utf-8", "replace").strip()[-2000:]

    def signal(self, number: int) -> None:
        """See ``MemberProcess``."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """See ``MemberProcess``."""
        self._process.kill()

    def poll(self) -> int | None:
        """See ``MemberProcess``."""
        return self._process.poll()

    def stop(self, timeout_ms: int) -> bool:
        """See ``MemberProcess``."""
        return self._process.stop(timeout_ms)


class ScalaMember:
    """The original's console consumer.

    It prints values only; their times are known because its output is read often.
    """

    original = True

    def __init__(self, tool: ScalaTool, consumer_id: str) -> None:
        self.consumer_id = consumer_id
        self._tool = tool
        self._tail = LineTail(tool.folder / "stdout")
        self._clock = SystemClock()
        self._last_read_ms = self._clock.wall_ms()

    def take(self) -> list[Operation]:
        """See ``MemberProcess``."""
        since_ms = self._last_read_ms
        self._last_read_ms = self._clock.wall_ms()
        messages = [[None, None, None, line] for line in self._tail.take()]
        poll = {"process": self.consumer_id, "type": "ok", "f": "poll", "member": self.consumer_id}
        when = {"since": since_ms, "time": self._clock.wall_ms()}
        return [{**poll, **when, "messages": messages}] if messages else []

    def signal(self, number: int) -> None:
        """See ``MemberProcess``."""
        if number == SUSPEND:
            self._tool.pause()
        else:
            assert number == RESUME
            self._tool.resume()

    def kill(self) -> None:
        """See ``MemberProcess``."""
        self._tool.kill()

    def poll(self) -> int | None:
        """See ``MemberProcess``."""
        return self._tool.poll()

    def stop(self, timeout_ms: int) -> bool:
        """See ``MemberProcess``."""
        return self._tool.stop(timeout_ms)
