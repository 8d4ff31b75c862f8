"""Runs the original's own command line tools from the brokers' class path."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess
from zkconsumer.sandbox.server import Launcher
from zkconsumer.sandbox.waiting import await_result


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool that has ended.

    Attributes:
        status: the exit status, negative for the signal that killed it.
        output: the standard output.
        errors: the standard error.
    """

    status: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        """The output by line."""
        return self.output.splitlines()


class ScalaTool:
    """A running tool; as a context manager it is killed at the end. Thread: any.

    Attributes:
        main_class: the tool's class.
        pid: its process id.
        folder: its work folder, with its log in the file ``log``.
    """

    def __init__(self, main_class: str, process: ChildProcess, folder: Path) -> None:
        self.main_class = main_class
        self.pid = process.pid
        self.folder = folder
        self._process = process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def output(self) -> str:
        """The standard output so far."""
        return (self.folder / "stdout").read_text("utf-8", "replace")

    @property
    def errors(self) -> str:
        """The standard error so far."""
        return (self.folder / "stderr").read_text("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        """The complete lines printed so far."""
        text = self.output
        return text[: text.rfind("\n") + 1].splitlines()

    def poll(self) -> int | None:
        """Return the exit status; None while the tool runs."""
        return self._process.poll()

    def wait(self, timeout_ms: int = 60_000) -> ToolResult:
        """Wait for the tool's end.

        Raises:
            SandboxError: the tool still runs after the time-out; the message has its last lines.
        """
        status = self._process.wait(timeout_ms)
        if status is None:
            raise SandboxError(f"{self.main_class} still runs after {timeout_ms} ms: {self._end()}")
        return ToolResult(status, self.output, self.errors)

    def wait_for_line(
        self, matches: Callable[[str], bool], *, timeout_ms: int = 30_000, what: str = "a line"
    ) -> str:
        """Wait for a printed line that matches, and return it.

        Raises:
            SandboxError: no such line was printed in time, or the tool ended before.
        """

        def found() -> str | None:
            ended = self.poll() is not None  # checked first, so that its last lines still count
            for line in self.lines:
                if matches(line):
                    return line
            if ended:
                raise SandboxError(f"{self.main_class} ended without {what}: {self._end()}")
            return None

        return await_result(
            found,
            timeout_ms=timeout_ms,
            complaint=lambda: f"{self.main_class} did not print {what} within {timeout_ms} ms",
        )

    def _end(self) -> str:
        lines = (self.output + self.errors).splitlines()
        return " | ".join(line for line in lines if line.strip())[-500:]

    def stop(self, timeout_ms: int = 15_000) -> bool:
        """Terminate the tool (``SIGTERM``); kill it after the time-out, and return False."""
        return self._process.stop(timeout_ms)

    def kill(self) -> None:
        """Kill the tool (``SIGKILL``), as a crash does."""
        self._process.kill()

    def pause(self) -> None:
        """Freeze the tool: its sessions and connections stay open until they time out."""
        self._process.pause()

    def resume(self) -> None:
        """Resume a frozen tool."""
        self._process.resume()


class ToolBox:
    """Starts tools, each in its own folder."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self._launcher = launcher
        self._folder = folder
        self._numbers = itertools.count(1)  # next() is atomic: tools start in any thread

    def start(
        self, main_class: str, *arguments: str, stdin: bytes = b"", flags: Sequence[str] = ()
    ) -> ScalaTool:
        """Start a main class of the original; see ``Sandbox.scala_tool``.

        Raises:
            SandboxError: Java could not be started.
        """
        folder = self._folder / f"{next(self._numbers):03}-{main_class.rpartition('.')[2]}"
        folder.mkdir(parents=True)
        (folder / "stdin").write_bytes(stdin)
        files = ChildFiles(
            stdout=folder / "stdout", stderr=folder / "stderr", stdin=folder / "stdin"
        )
        process = self._launcher.launch(folder, main_class, arguments, files, flags=flags)
        return ScalaTool(main_class, process, folder)
