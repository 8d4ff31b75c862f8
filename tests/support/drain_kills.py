"""A drain that is killed repeatedly while messages arrive: by SIGKILL, at random moments.

Victims are the driver, its JVM, or a Python worker. The drain is restarted at once, while
processes of the killed one may still be running.
"""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyarrow import fs

from tests.support import quick_spark
from tests.support.process_table import is_alive
from tests.support.s3_server import file_system
from tests.support.waiting import wait_until

KINDS = ("driver", "jvm", "worker")
LOCAL = ("--engine", "local")
SPARK = (
    *("--master", "local[2]"),
    *(word for key, of in quick_spark.LOCAL.items() for word in ("--conf", f"{key}={of}")),
    *("--conf", "spark.driver.memory=512m"),
    *("--conf", f"spark.driver.extraJavaOptions={quick_spark.JAVA}"),
)
_STARTED_S = 400
"""On a machine with six busy processes Spark's start and first batch took three minutes."""
_MOMENT_S = 2.0
_ENDS_DUMP = b"JNI global refs"


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill of a drain.

    Attributes:
        victim: the victim's kind.
        batch: the batch in progress.
        step: the batch's step.
        survived: whether the drain went on without a restart.
    """

    victim: str
    batch: int
    step: str
    survived: bool


@dataclass(slots=True)
class KilledDrain:
    """A drain that is killed and restarted.

    Args:
        path: the target folder, which may be in the bucket of ``s3_server``.
        arguments: arguments of ``zkconsumer drain``, without those for how long it runs.
        seed: the seed for victims and moments.
        logs: the folder for its output.
        engines: the engines' arguments; each start uses the next ones.
        kinds: the kinds of victims.
    """

    path: str
    arguments: Sequence[str]
    seed: int
    logs: Path
    engines: Sequence[Sequence[str]] = (SPARK,)
    kinds: Sequence[str] = KINDS
    kills: list[Kill] = field(default_factory=list)
    _starts: Iterator[int] = field(default_factory=itertools.count)
    _process: "subprocess.Popen[bytes] | None" = None
    _log: Path = Path()

    def kill(self, count: int) -> None:
        """Run the drain, and kill it ``count`` times."""
        chance = random.Random(self.seed)
        kinds = [kind for kind, _ in zip(itertools.cycle(self.kinds), range(count), strict=False)]
        chance.shuffle(kinds)
        with self._cleaned_up():
            for kind in kinds:
                process = self._running()
                self._await_more("plans", process, "the drain to plan a batch")
                # The moment is random: there is no condition to wait for.
                threading.Event().wait(chance.uniform(0, _MOMENT_S))
                self._kill(kind, process)

    def _kill(self, kind: str, process: "subprocess.Popen[bytes]") -> None:
        victims = self._victims(kind, process)
        for other in ("jvm", "driver"):
            # Between two jobs there may be no worker, and only Spark has a JVM.
            if not victims:
                kind, victims = other, self._victims(other, process)
        batch, step = self._progress()
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        what = f"the drain to end or to go on after its {kind} was killed"
        self._await_more("batches", process, what)
        self.kills.append(Kill(kind, batch, step, survived=process.poll() is None))

    def _await_more(self, folder: str, process: "subprocess.Popen[bytes]", what: str) -> None:
        """Wait for one more file, or the drain's end; on a time-out log all threads' stacks.

        The stacks tell a drain that got no CPU time from one that hangs.
        """
        there = len(self._names(folder))
        try:
            wait_until(
                lambda: process.poll() is not None or len(self._names(folder)) > there,
                timeout_s=_STARTED_S,
                what=f"{what}; see {self.logs}",
            )
        except AssertionError:
            self._show_threads(process)
            raise

    def _show_threads(self, process: "subprocess.Popen[bytes]") -> None:
        """Let the JVM, then the driver write their stacks to the log, which ends the driver."""
        for pid in self._victims("jvm", process):
            os.kill(pid, signal.SIGQUIT)
            wait_until(lambda: _ENDS_DUMP in self._log.read_bytes(), what="the JVM's stacks")
        process.send_signal(signal.SIGABRT)
        process.wait()

    def _victims(self, kind: str, process: "subprocess.Popen[bytes]") -> list[int]:
        if kind == "driver":
            return [process.pid]
        children = [pid for pid in session_members(process.pid) if pid != process.pid]
        java = [pid for pid in children if _program(pid).startswith("java")]
        if kind == "jvm":
            return java
        workers = [pid for pid in children if "pyspark" in _command(pid) and pid not in java]
        return workers[-1:]

    def _progress(self) -> tuple[int, str]:
        """Return the batch in progress, and its step according to the files."""
        planned, landed = len(self._names("plans")), len(self._names("batches"))
        if planned > landed:
            attempts = self._names(f"staging/{planned:010d}")
            return planned, "landing" if attempts else "planned"
        return planned, "publishing" if self._names("staging") else "between batches"

    def _names(self, folder: str) -> list[str]:
        system, below = file_system(f"{self.path}/_zkconsumer/{folder}")
        infos = system.get_file_info(fs.FileSelector(below, allow_not_found=True))
        return [item.base_name for item in infos if not item.base_name.startswith(".")]

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            start = next(self._starts)
            self._log = self.logs / f"drain-{start}.log"
            engine = self.engines[start % len(self.engines)]
            with self._log.open("wb") as message:
                self._process = subprocess.Popen(
                    command("drain", *self.arguments, "--continuous", *engine),
                    env={**os.environ, "PYTHONFAULTHANDLER": "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=message,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        return self._process

    @contextmanager
    def _cleaned_up(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._process is not None:
                pid = self._process.pid
                for member in session_members(pid):
                    with suppress(ProcessLookupError):
                        os.kill(member, signal.SIGKILL)
                self._process.wait()
                wait_until(lambda: not session_members(pid), what="the last drain to be gone")


def command(*arguments: str) -> list[str]:
    """Return the command line of ``zkconsumer`` with these arguments."""
    return [sys.executable, "-m", "zkconsumer", *arguments]


def end_in_order(
    arguments: Sequence[str], engine: Sequence[str], landed: Callable[[], bool]
) -> str:
    """Run a drain until ``landed`` returns True, and end it by SIGTERM.

    Returns:
        Its standard error.
    """
    process = subprocess.Popen(
        command("drain", *arguments, "--continuous", *engine), stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(
            lambda: process.poll() is not None or landed(),
            timeout_s=_STARTED_S,
            what="the drain to land all",
        )
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, message
    assert "stopping after this batch" in message
    return message


def session_members(leader: int) -> list[int]:
    """Return the live processes of the session with this leader, sorted."""
    running = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return sorted(pid for pid in running if _session(pid) == leader and is_alive(pid))


def reported(kills: Sequence[Kill]) -> str:
    """Return a line for each kill, and the number of kills by kind."""
    lines = [
        f"{kill.victim} killed in batch {kill.batch} ({kill.step})"
        f"{', went on by itself' if kill.survived else ''}"
        for kill in kills
    ]
    counts = Counter(kill.victim for kill in kills)
    return "\n".join([*lines, ", ".join(f"{kind}: {n}" for kind, n in sorted(counts.items()))])


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _program(pid: int) -> str:
    return Path(_command(pid).split(" ", 1)[0]).name
