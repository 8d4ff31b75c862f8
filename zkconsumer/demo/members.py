"""The members of the demos' groups: ours, and the original Scala console consumer."""

import sys
from collections.abc import Sequence
from pathlib import Path

from zkconsumer.demo.lines import line_number
from zkconsumer.sandbox.processes import ChildFiles, SupervisedProcesses
from zkconsumer.sandbox.tools import ScalaTool

_STOP_TIMEOUT_MS = 20_000


class DemoMember:
    """A console consumer as a process.

    Args:
        name: the member's name in the picture.
        tool: the process, which prints messages as lines.
    """

    def __init__(self, name: str, tool: ScalaTool) -> None:
        self.name = name
        self._tool = tool
        self._taken_bytes = 0
        self._ended_by_us = False

    @property
    def process_id(self) -> int:
        """Its process id."""
        return self._tool.pid

    def take(self) -> list[int]:
        """Return the numbers of the lines delivered since the last call.

        A line that SIGKILL cut off does not count as delivered.
        """
        with (self._tool.folder / "stdout").open("rb") as output:
            output.seek(self._taken_bytes)
            fresh = output.read()
        fresh = fresh[: fresh.rfind(b"\n") + 1]
        self._taken_bytes += len(fresh)
        lines = fresh.decode("utf-8", "replace").splitlines()
        return [number for number in map(line_number, lines) if number is not None]

    def last_words(self) -> str | None:
        """Return the end of its log if it ended unexpectedly; otherwise None."""
        if self._ended_by_us or self._tool.poll() is None:
            return None
        return self._tool.errors.strip()[-500:]

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        self._ended_by_us = True
        self._tool.kill()

    def stop(self) -> None:
        """Terminate it (SIGTERM), and wait for its end."""
        self._ended_by_us = True
        self._tool.stop(_STOP_TIMEOUT_MS)


def our_member(
    name: str, arguments: Sequence[str], folder: Path, processes: SupervisedProcesses
) -> DemoMember:
    """Start ``zkconsumer consume`` with these arguments; its output is kept in ``folder``."""
    own = folder / name
    own.mkdir()
    process = processes.spawn(
        [sys.executable, "-m", "zkconsumer", "consume", *arguments],
        cwd=Path.cwd(),
        files=ChildFiles(stdout=own / "stdout", stderr=own / "stderr"),
    )
    return DemoMember(name, ScalaTool("zkconsumer consume", process, own))
