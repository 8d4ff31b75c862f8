"""The original's own command line tools, run from the brokers' class path."""

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
    """What a tool that ended has left.

    Attributes:
        status: its exit status, negative for the signal that killed it.
        output: its standard output.
        errors: its standard error.
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
        main_class: what runs.
        pid: its process id.
        folder: where it works; its log is the file ``log`` there.
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
        """What it has printed so far on its standard output."""
        return (self.folder / "stdout").read_text("utf-8", "replace")

    @property
    def errors(self) -> str:
        """What it has printed so far on its standard error."""
        return (self.folder / "stderr").read_text("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        """The whole lines it has printed so far."""
        text = self.output
        return text[: text.rfind("\n") + 1].splitlines()

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self._process.poll()

    def wait(self, timeout_ms: int = 60_000) -> ToolResult:
        """Wait for its end.

        Raises:
            SandboxError: it still runs after the time; the message has its last lines.
        """
        status = self._process.wait(timeout_ms)
        if status is None:
            raise SandboxError(f"{self.main_class} still runs after {timeout_ms} ms: {self._end()}")
        return ToolResult(status, self.output, self.errors)

    def wait_for_line(
        self, matches: Callable[[str], bool], *, timeout_ms: int = 30_000, what: str = "a line"
    ) -> str:
        """Return the first line that it prints and that matches, whenever it comes.

        Raises:
            SandboxError: none came in time, or it ended before.
        """

        def found() -> str | None:
            ended = self.poll() is not None  # asked first: its last lines still count
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
        """End it in order (``SIGTERM``); killed when the time is over, then False."""
        return self._process.stop(timeout_ms)

    def kill(self) -> None:
        """End it at once (``SIGKILL``), as a crash does."""
        self._process.kill()

    def pause(self) -> None:
        """Freeze it: its sessions and connections stay open until they time out."""
        self._process.pause()

    def resume(self) -> None:
        """Let a frozen one go on."""
        self._process.resume()


class ToolBox:
    """Starts tools, each in a folder of its own."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self._launcher = launcher
        self._folder = folder
        self._numbers = itertools.count(1)  # its next() is atomic: tools start in any thread

    def start(
        self, main_class: str, *arguments: str, stdin: bytes = b"", flags: Sequence[str] = ()
    ) -> ScalaTool:
        """Start a main class of the original.

        Args:
            main_class: its full name, such as ``kafka.tools.ConsoleConsumer``.
            arguments: its command line.
            stdin: what it gets to read on its standard input.
            flags: for the JVM.

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
