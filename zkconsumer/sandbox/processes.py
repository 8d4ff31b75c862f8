"""Starts child processes that can't outlive this one: the owner's side of the supervisor."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import supervisor
from zkconsumer.sandbox.waiting import await_result


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildFiles:
    """The files of a program's standard streams; the program appends to the last two."""

    stdout: Path
    stderr: Path
    stdin: Path = Path(os.devnull)


class ChildProcess:
    """A program under the supervisor. Thread: any.

    Attributes:
        pid: the process id, which the system may reuse after the process has ended.
    """

    def __init__(self, owner: "SupervisedProcesses", pid: int, ended: socket.socket) -> None:
        self.pid = pid
        self._owner = owner
        self._ended = ended
        self._lock = threading.Lock()
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative for the signal that killed it; None while it runs."""
        return self.wait(timeout_ms=0)

    def wait(self, timeout_ms: int) -> int | None:
        """Wait for the end; return the exit status, None after the time-out."""
        # One thread reads the socket, and closes it; others wait for that thread.
        if self._status is None and self._lock.acquire(timeout=timeout_ms / 1000):
            try:
                self._listen(timeout_ms)
            finally:
                self._lock.release()
        return self._status

    def _listen(self, timeout_ms: int) -> None:
        if self._status is not None:
            return
        ended = select.poll()
        ended.register(self._ended, select.POLLIN)
        if ended.poll(timeout_ms):
            with self._ended:
                text = self._ended.recv(64)
            # Without a status the supervisor was killed, and the kernel killed the child with it.
            self._status = int(text) if text else -signal.SIGKILL

    def send_signal(self, number: int) -> bool:
        """Send a signal; return False if the process has ended."""
        return self._owner.send_signal(self.pid, number)

    def pause(self) -> bool:
        """Freeze all of its threads (``SIGSTOP``); return False if the process has ended.

        On a busy machine threads may run on for a while after the signal.
        """
        sent = self.send_signal(signal.SIGSTOP)
        if sent:
            await_result(
                lambda: is_frozen(self.pid),
                timeout_ms=10_000,
                complaint=lambda: f"process {self.pid} does not stop, though it was sent a signal",
            )
        return sent

    def resume(self) -> None:
        """Resume it (``SIGCONT``)."""
        self.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it (``SIGKILL``) and wait for its end."""
        self.send_signal(signal.SIGKILL)
        self.wait(timeout_ms=10_000)

    def stop(self, timeout_ms: int) -> bool:
        """Terminate it (``SIGTERM``), kill it after the time-out; return False if it was killed."""
        self.resume()
        self.send_signal(signal.SIGTERM)
        if self.wait(timeout_ms) is not None:
            return True
        self.kill()
        return False


def is_frozen(pid: int) -> bool:
    """Return whether no thread of a process runs; always True on systems without ``/proc``."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.is_dir():
        return True
    for task in tasks.iterdir():
        # A thread that has ended in the meantime does not run.
        with contextlib.suppress(OSError):
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in {"T", "t", "Z", "X"}:
                return False
    return True


class SupervisedProcesses:
    """Starts programs under one supervisor process, which kills them when this process ends.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner_pid = os.getpid()
        self._children: list[ChildProcess] = []
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd = theirs.fileno()
        with theirs:
            # Isolated and without site: it starts in 20 ms and no PYTHON* variable changes it.
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, str(fd), str(self._owner_pid)],
                pass_fds=[fd],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._supervisor.pid

    def spawn(self, argv: Sequence[str], *, cwd: Path, files: ChildFiles) -> ChildProcess:
        """Start a program in its own session, with this process's environment.

        Raises:
            SandboxError: the program can't be started, or the supervisor has ended.
        """
        request = {
            "op": "spawn",
            "argv": list(argv),
            "cwd": str(cwd),
            "stdin": str(files.stdin),
            "stdout": str(files.stdout),
            "stderr": str(files.stderr),
        }
        ended, theirs = socket.socketpair()
        try:
            with theirs:
                response = self._request(request, [theirs.fileno()])
        except SandboxError:
            ended.close()
            raise
        if "error" in response:
            ended.close()
            raise SandboxError(f"can't start {argv[0]}: {response['error']}")
        child = ChildProcess(self, int(str(response["pid"])), ended)
        with self._lock:
            self._children = [child for child in self._children if child.poll() is None]
            self._children.append(child)
        return child

    def send_signal(self, pid: int, number: int) -> bool:
        """Send a signal to a child; return False if it has ended."""
        try:
            return bool(self._request({"op": "signal", "pid": pid, "signal": int(number)})["sent"])
        except SandboxError:
            return False  # without the supervisor there is no child either

    def remove_at_end(self, folder: Path) -> None:
        """Remove a folder at the end, even if this process is killed."""
        self._request({"op": "remove", "path": str(folder)})

    def close(self) -> None:
        """Kill all children, remove the folders, and wait until that is done.

        A forked process does nothing here: the servers belong to its parent.
        """
        if os.getpid() != self._owner_pid:
            return
        with self._lock:
            # Ends the connection even if a forked process still holds the socket; fails if the
            # supervisor has ended, or in a second call.
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)
            self._control.close()
            children, self._children = self._children, []
        self._supervisor.wait()
        for child in children:
            child.poll()

    def _request(self, request: Mapping[str, object], fds: Sequence[int] = ()) -> dict[str, object]:
        try:
            with self._lock:
                socket.send_fds(self._control, [json.dumps(request).encode()], fds)
                data = self._control.recv(supervisor.MAX_PACKET_BYTES)
        except OSError as error:
            raise SandboxError(f"the sandbox's supervisor process is gone: {error}") from error
        if not data:
            raise SandboxError("the sandbox's supervisor process was killed")
        response: dict[str, object] = json.loads(data)
        return response
