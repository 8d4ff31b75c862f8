"""Child processes end with their owner, however the owner ends."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.process_table import children_hear_hang_ups, is_alive
from tests.support.waiting import wait_until
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess, SupervisedProcesses
from zkconsumer.scope import ThreadScope

# Starts a child that sleeps, prints the pids of supervisor and child, then waits, forks or exits.
OWNER = """
import os, sys, signal
from pathlib import Path
from zkconsumer.sandbox.processes import ChildFiles, SupervisedProcesses
folder = Path(sys.argv[1])
processes = SupervisedProcesses()
processes.remove_at_end(folder)
files = ChildFiles(stdout=folder / "out", stderr=folder / "out")
child = processes.spawn(["/bin/sleep", "1000"], cwd=folder, files=files)
if sys.argv[2] == "forks" and os.fork() == 0:
    signal.pause()
print(processes.pid, child.pid, flush=True)
if sys.argv[2] == "exits":
    sys.exit()
signal.pause()
"""


class OwnerProcess:
    """A process that has a supervisor and a child."""

    def __init__(self, folder: Path, then: str = "waits") -> None:
        with children_hear_hang_ups():
            self.process = subprocess.Popen(
                [sys.executable, "-c", OWNER, str(folder), then],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        assert self.process.stdout is not None
        supervisor, child = self.process.stdout.readline().split()
        self.supervisor_pid, self.child_pid = int(supervisor), int(child)

    def await_all_gone(self) -> None:
        """Wait until neither the supervisor nor the child runs."""
        pids = (self.supervisor_pid, self.child_pid)
        wait_until(lambda: not any(map(is_alive, pids)), timeout_s=10, what=f"the end of {pids}")

    def close(self) -> None:
        """Kill whatever is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def owner(folder: Path, then: str = "waits") -> Iterator[OwnerProcess]:
    """Start an owner; leave nothing behind at the end."""
    folder.mkdir()
    process = OwnerProcess(folder, then)
    try:
        yield process
    finally:
        process.close()


@pytest.fixture
def processes() -> Iterator[SupervisedProcesses]:
    """Give supervised processes of this process."""
    supervised = SupervisedProcesses()
    yield supervised
    supervised.close()


def start(processes: SupervisedProcesses, folder: Path, *argv: str) -> ChildProcess:
    """Start a program that prints to ``folder/out`` and ``folder/err``."""
    files = ChildFiles(stdout=folder / "out", stderr=folder / "err")
    return processes.spawn(argv, cwd=folder, files=files)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_ends_the_owner_ends_its_children(
    number: signal.Signals, tmp_path: Path
) -> None:
    """No orphan and no folder is left, even if the owner could run no code."""
    with owner(tmp_path / "work") as owner_process:
        assert is_alive(owner_process.child_pid)
        owner_process.process.send_signal(number)
        owner_process.process.wait(timeout=20)
        owner_process.await_all_gone()
    assert not (tmp_path / "work").exists()


def test_an_owner_that_ends_without_closing_leaves_nothing(tmp_path: Path) -> None:
    """A normal exit is enough."""
    with owner(tmp_path / "work", "exits") as owner_process:
        owner_process.process.wait(timeout=20)
        owner_process.await_all_gone()
    assert not (tmp_path / "work").exists()


def test_a_paused_child_ends_with_its_owner(tmp_path: Path) -> None:
    """A frozen server is killed, too."""
    with owner(tmp_path / "work") as owner_process:
        os.kill(owner_process.child_pid, signal.SIGSTOP)
        owner_process.process.kill()
        owner_process.process.wait(timeout=20)
        owner_process.await_all_gone()


def test_a_process_forked_from_the_owner_does_not_keep_the_children(tmp_path: Path) -> None:
    """It inherits the socket to the supervisor, but does not count as the owner."""
    with owner(tmp_path / "work", "forks") as owner_process:
        owner_process.process.kill()
        owner_process.process.wait(timeout=20)
        owner_process.await_all_gone()


def test_children_of_a_killed_supervisor_are_killed(tmp_path: Path) -> None:
    """The kernel kills them, and the owner gets an error."""
    supervised = SupervisedProcesses()
    child = start(supervised, tmp_path, "/bin/sleep", "1000")
    os.kill(supervised.pid, signal.SIGKILL)
    assert child.wait(timeout_ms=10_000) == -signal.SIGKILL
    wait_until(lambda: not is_alive(child.pid), timeout_s=10, what="the child's end")
    assert not child.send_signal(signal.SIGTERM)
    with pytest.raises(SandboxError, match="supervisor process"):
        start(supervised, tmp_path, "/bin/true")
    supervised.close()


def test_a_child_outlives_the_thread_that_started_it(
    processes: SupervisedProcesses, tmp_path: Path
) -> None:
    """A child depends on the process, not on one of its threads."""
    children: list[ChildProcess] = []
    scope = ThreadScope("test")
    scope.spawn(
        "starter",
        lambda: children.append(start(processes, tmp_path, "/bin/sleep", "1000")),
        stop=lambda: None,
    )
    assert scope.close(timeout_ms=10_000) == []
    assert children[0].wait(timeout_ms=100) is None


def test_a_childs_exit_status_and_output_are_available(
    processes: SupervisedProcesses, tmp_path: Path
) -> None:
    """Its two streams are in two files."""
    child = start(processes, tmp_path, "/bin/sh", "-c", "echo out; echo err >&2; exit 3")
    assert child.wait(timeout_ms=10_000) == 3
    assert child.poll() == 3
    assert (tmp_path / "out").read_text() == "out\n"
    assert (tmp_path / "err").read_text() == "err\n"


def test_a_child_reads_from_a_file(processes: SupervisedProcesses, tmp_path: Path) -> None:
    """A file can be its standard input."""
    (tmp_path / "in").write_text("hello")
    files = ChildFiles(stdin=tmp_path / "in", stdout=tmp_path / "out", stderr=tmp_path / "err")
    child = processes.spawn(["/bin/cat"], cwd=tmp_path, files=files)
    assert child.wait(timeout_ms=10_000) == 0
    assert (tmp_path / "out").read_text() == "hello"


def test_a_killed_child_has_the_signal_as_its_status(
    processes: SupervisedProcesses, tmp_path: Path
) -> None:
    """It has ended when ``kill`` returns; a second call does nothing."""
    child = start(processes, tmp_path, "/bin/sleep", "1000")
    child.kill()
    assert child.poll() == -signal.SIGKILL
    child.kill()
    assert not child.send_signal(signal.SIGTERM)


def test_a_child_that_obeys_sigterm_is_stopped_cleanly(
    processes: SupervisedProcesses, tmp_path: Path
) -> None:
    """Even a paused child gets the signal."""
    child = start(processes, tmp_path, "/bin/sleep", "1000")
    child.send_signal(signal.SIGSTOP)
    assert child.stop(timeout_ms=10_000)
    assert child.poll() == -signal.SIGTERM


def test_a_child_that_ignores_sigterm_is_killed(
    processes: SupervisedProcesses, tmp_path: Path
) -> None:
    """``stop`` returns False for that."""
    child = start(processes, tmp_path, "/bin/sh", "-c", "trap '' TERM; echo up; sleep 1000 & wait")
    wait_until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text(), what="up")
    assert not child.stop(timeout_ms=100)
    assert child.poll() == -signal.SIGKILL


def test_a_missing_program_is_an_error(processes: SupervisedProcesses, tmp_path: Path) -> None:
    """The error is one line with its name; the supervisor goes on."""
    with pytest.raises(SandboxError, match=r"can't start /no/such/program: "):
        start(processes, tmp_path, "/no/such/program")
    assert start(processes, tmp_path, "/bin/true").wait(timeout_ms=10_000) == 0


def test_closing_kills_all_and_is_idempotent(tmp_path: Path) -> None:
    """Folders are removed once the children have ended."""
    folder = tmp_path / "work"
    folder.mkdir()
    supervised = SupervisedProcesses()
    supervised.remove_at_end(folder)
    children = [start(supervised, folder, "/bin/sleep", "1000") for _ in range(3)]
    supervised.close()
    supervised.close()
    assert [child.poll() for child in children] == [-signal.SIGKILL] * 3
    assert not any(is_alive(child.pid) for child in children)
    assert not folder.exists()
