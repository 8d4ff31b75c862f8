"""Controls a server of the sandbox: start, stop, kill, pause, resume."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess, SupervisedProcesses
from zkconsumer.sandbox.rendering import java_command, log4j_properties, render_properties
from zkconsumer.sandbox.versions import KafkaVersion
from zkconsumer.sandbox.waiting import await_result

_SHOWN_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Starts the Java processes of a sandbox."""

    processes: SupervisedProcesses
    java: Path
    version: KafkaVersion
    class_path: tuple[Path, ...]
    heap_mb: int

    def launch(
        self,
        folder: Path,
        main_class: str,
        arguments: Sequence[str],
        files: ChildFiles,
        *,
        flags: Sequence[str] = (),
    ) -> ChildProcess:
        """Start a main class that works in ``folder`` and logs to ``folder/log``.

        Raises:
            SandboxError: Java could not be started.
        """
        log4j = folder / "log4j.properties"
        log4j.write_text(render_properties(log4j_properties(folder / "log")), "ascii")
        command = java_command(
            self.java, self.version, self.class_path, log4j=log4j, heap_mb=self.heap_mb
        )
        argv = [*command, *flags, main_class, *arguments]
        return self.processes.spawn(argv, cwd=folder, files=files)

    def launch_server(
        self,
        folder: Path,
        main_class: str,
        settings: Mapping[str, str],
        *,
        flags: Sequence[str] = (),
        arguments: Callable[[str], Sequence[str]] = lambda file: [file],
    ) -> ChildProcess:
        """Start a main class with a property file, by default as its only argument.

        The output of this run is in ``folder/output``.

        Raises:
            SandboxError: Java could not be started.
        """
        file = folder / "server.properties"
        file.write_text(render_properties(settings), "ascii")
        output = folder / "output"
        output.unlink(missing_ok=True)
        files = ChildFiles(stdout=output, stderr=output)
        return self.launch(folder, main_class, arguments(str(file)), files, flags=flags)


class Server:
    """One server process that can be stopped and started again on its port and data.

    Raises (``kill``, ``stop``, ``pause`` and ``resume``):
        SandboxError: the server does not run.

    Args:
        name: the server's name for messages, such as ``broker 1``.
        folder: its own folder: settings, data and logs.
        launch: starts the process.
        ready: returns whether the running process is ready; must not block for long.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        launch: Callable[[], ChildProcess],
        ready: Callable[[], bool],
    ) -> None:
        self.name = name
        self._folder = folder
        self._launch = launch
        self._ready = ready
        self._process: ChildProcess | None = None
        self._paused = False

    @property
    def serving(self) -> bool:
        """Whether the server runs and is not paused."""
        return self.running and not self._paused

    @property
    def running(self) -> bool:
        """Whether the process exists; it may be paused."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process id; None while the server does not run."""
        return self._process.pid if self._process is not None and self.running else None

    def launch(self) -> None:
        """Start the process without waiting until it is ready.

        Raises:
            SandboxError: the server runs already, or Java can't be started.
        """
        if self.running:
            raise SandboxError(f"{self.name} runs already")
        self._process = self._launch()
        self._paused = False

    def await_ready(self, timeout_ms: int) -> None:
        """Wait until the server is ready.

        Raises:
            SandboxError: the server ended, or was not ready in time; with the last lines of its
                log.
        """

        def request() -> bool:
            if not self.running:
                raise SandboxError(f"{self.name} did not start: {self._last_lines()}")
            return self._ready()

        await_result(
            request,
            timeout_ms=timeout_ms,
            complaint=lambda: (
                f"{self.name} is not ready after {timeout_ms} ms: {self._last_lines()}"
            ),
        )

    def kill(self) -> None:
        """Kill the server, as a crash does (``SIGKILL``)."""
        self._running().kill()

    def stop(self, timeout_ms: int = 30_000) -> bool:
        """Terminate the server (``SIGTERM``); kill it after the time-out, and return False."""
        return self._running().stop(timeout_ms)

    def pause(self) -> None:
        """Freeze the server (``SIGSTOP``): its connections stay open, but it does not respond."""
        self._running().pause()
        self._paused = True

    def resume(self) -> None:
        """Resume a frozen server."""
        self._running().resume()
        self._paused = False

    def message(self, text: str) -> bool:
        """Return whether a logged or printed line contains a text."""
        return any(text in line for line in self._lines())

    def printed(self, text: str) -> bool:
        """Return whether the standard output of the present run contains a text."""
        return text in _text_of(self._folder / "output")

    def _running(self) -> ChildProcess:
        if self._process is None or self._process.poll() is not None:
            raise SandboxError(f"{self.name} does not run")
        return self._process

    def _lines(self) -> list[str]:
        """Return the lines printed by the present run, then those logged by all runs."""
        text = _text_of(self._folder / "output") + _text_of(self._folder / "log")
        lines = (line.strip() for line in text.splitlines())
        # Lines that start with a bracket are output of the JVM, such as loaded classes.
        return [line for line in lines if line and not line.startswith("[")]

    def _last_lines(self) -> str:
        lines = self._lines()
        errors = [line for line in lines if _is_error(line)] or lines
        shown = " | ".join(line[:300] for line in errors[-_SHOWN_LINES:])
        return shown or "it printed nothing"


def _is_error(line: str) -> bool:
    return any(word in line for word in ("ERROR", "FATAL", "Exception", "Error:"))


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
