"""The members of the demos' groups: ours, and the original Scala console consumer."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TypeAlias

from zkconsumer.demo.lines import line_number
from zkconsumer.sandbox.tools import ScalaTool
from zkconsumer.scope import ThreadScope

_STOP_TIMEOUT_S = 20


class PythonMember:
    """Runs ``zkconsumer consume`` as a process, and reads its output as it arrives.

    Args:
        name: the member's name in the picture.
        arguments: the command's arguments, without the subcommand.
        errors: the file for its log.
        reading: owns the thread that reads its output.
    """

    def __init__(
        self,
        name: str,
        arguments: list[str],
        errors: Path,
        reading: ThreadScope,
    ) -> None:
        self.name = name
        self._errors = errors
        self._ended_by_us = False
        self._lock = threading.Lock()
        self._numbers: list[int] = []
        self._all_read = threading.Event()
        with errors.open("wb") as log_file:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, our own arguments
                [sys.executable, "-m", "zkconsumer", "consume", *arguments, "--output", "json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log_file,
                start_new_session=True,
            )
        reading.spawn(f"read-{name}", self._read, stop=self.kill)

    @property
    def has_ended(self) -> bool:
        """Whether the output was read to its end."""
        return self._all_read.is_set()

    @property
    def process_id(self) -> int:
        """Its process id."""
        return self._process.pid

    def take(self) -> list[int]:
        """Return the numbers of the lines delivered since the last call."""
        with self._lock:
            numbers, self._numbers = self._numbers, []
        return numbers

    def last_words(self) -> str | None:
        """Return the end of its log if it ended unexpectedly; otherwise None."""
        if self._ended_by_us or self._process.poll() is None:
            return None
        return self._errors.read_text("utf-8", "replace").strip()[-500:]

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        self._ended_by_us = True
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Terminate it (SIGTERM), and wait for its end."""
        self._ended_by_us = True
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def _read(self) -> None:
        """Read the output to its end; a line that SIGKILL cut off does not count as delivered."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                if line.endswith(b"\n"):
                    number = line_number(json.loads(line)["value"])
                    if number is not None:
                        with self._lock:
                            self._numbers.append(number)
        self._all_read.set()


class ScalaMember:
    """The console consumer of Kafka 0.8.2.2, the original; see ``PythonMember``."""

    name = "scala"

    def __init__(self, tool: ScalaTool) -> None:
        self._tool = tool
        self._taken = 0
        self.kill = tool.kill
        self.stop = tool.stop

    @property
    def process_id(self) -> int:
        """Its process id."""
        return self._tool.pid

    def take(self) -> list[int]:
        """Return the numbers of the lines delivered since the last call."""
        lines = self._tool.lines
        fresh, self._taken = lines[self._taken :], len(lines)
        return [number for number in map(line_number, fresh) if number is not None]

    def last_words(self) -> str | None:
        """Return the end of its log if it has ended; None while it runs."""
        return None if self._tool.poll() is None else self._tool.errors.strip()[-500:]


ConsumerProcess: TypeAlias = PythonMember | ScalaMember
