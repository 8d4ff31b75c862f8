"""Runs between the sandbox and its servers, and kills them when the sandbox ends.

It starts the servers, watches a socket to the process that owns the sandbox, and kills all of them
as soon as that socket ends: after a crash, a ``kill -9``, or a normal exit alike. If the supervisor
itself is killed, the kernel kills the servers (``PR_SET_PDEATHSIG``). The owner could not rely on
that flag alone: it takes effect when the *thread* that started the child ends, and the owner may
have many threads; the supervisor has only one.

Run as a script, with the number of the socket's descriptor and the owner's process id; it uses
the standard library only.

The protocol, one JSON object a packet (``SOCK_SEQPACKET``), each with one response:

``{"op": "spawn", "argv": [...], "cwd": path, "stdin": path, "stdout": path, "stderr": path}``
    with one descriptor
    -> ``{"pid": 1}`` or ``{"error": text}``. When the child ends its exit status (an integer as
    text, negative for a signal) is written to the descriptor, which is then closed.
``{"op": "signal", "pid": 1, "signal": 9}``
    -> ``{"sent": true}``, or false where the child has ended.
``{"op": "remove", "path": ...}``
    -> ``{}``. The folder is removed when the supervisor ends.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

MAX_PACKET_BYTES = 1 << 17
PR_SET_PDEATHSIG = 1


class Child(NamedTuple):
    """A running server, and the socket that reports its end."""

    process: "subprocess.Popen[bytes]"
    notify: socket.socket


class Supervisor:
    """Executes the owner's requests until the owner ends."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, Child] = {}
        self._remove: list[str] = []
        self._operations: dict[str, Callable[[dict[str, Any], list[int]], dict[str, object]]] = {
            "spawn": self._spawn,
            "signal": self._signal,
            "remove": self._remove_at_end,
        }

    def run(self, wakeup: socket.socket, owner: int | None) -> None:
        """Serve until the owner ends, or SIGTERM; then kill and reap every child.

        Args:
            wakeup: becomes readable at every signal (``signal.set_wakeup_fd``).
            owner: becomes readable at the owner's end (a pidfd), if the system supports it. The
                socket stays open while a process forked from the owner lives.
        """
        watched: list[int | socket.socket] = [self._control, wakeup]
        if owner is not None:
            watched.append(owner)
        try:
            while True:
                readable, _, _ = select.select(watched, [], [])
                if owner in readable:
                    return
                if wakeup in readable:
                    signals = wakeup.recv(4096)
                    self._reap()
                    if signal.SIGTERM in signals:
                        return
                if self._control in readable and not self._serve():
                    return
        finally:
            self._end()

    def _serve(self) -> bool:
        """Respond to one request; return False when the owner has ended."""
        try:
            data, fds, _, _ = socket.recv_fds(self._control, MAX_PACKET_BYTES, 1)
            if not data:
                return False
            request = json.loads(data)
            response = self._operations[request["op"]](request, fds)
            self._control.sendall(json.dumps(response).encode())
        except ConnectionError:
            return False
        return True

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> dict[str, object]:
        notify = socket.socket(fileno=fds[0])
        try:
            with (
                open(request["stdin"], "rb") as stdin,
                open(request["stdout"], "ab") as stdout,
                open(request["stderr"], "ab") as stderr,
            ):
                process = subprocess.Popen(
                    request["argv"],
                    cwd=request["cwd"],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                    preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
                )
        except (OSError, subprocess.SubprocessError) as error:
            notify.close()
            return {"error": str(error)}
        self._children[process.pid] = Child(process, notify)
        return {"pid": process.pid}

    def _signal(self, request: dict[str, Any], _fds: list[int]) -> dict[str, object]:
        child = self._children.get(request["pid"])
        if child is None or child.process.poll() is not None:
            return {"sent": False}
        child.process.send_signal(request["signal"])
        return {"sent": True}

    def _remove_at_end(self, request: dict[str, Any], _fds: list[int]) -> dict[str, object]:
        self._remove.append(request["path"])
        return {}

    def _reap(self) -> None:
        for pid, child in list(self._children.items()):
            status = child.process.poll()
            if status is not None:
                del self._children[pid]
                _notify(child.notify, status)

    def _end(self) -> None:
        for child in self._children.values():
            child.process.kill()
        for child in self._children.values():
            _notify(child.notify, child.process.wait())
        for path in self._remove:
            shutil.rmtree(path, ignore_errors=True)


def _notify(notify: socket.socket, status: int) -> None:
    with notify, contextlib.suppress(OSError):  # the owner may have closed its end
        notify.sendall(str(status).encode())


def _die_with_parent() -> None:
    """Have the kernel kill this child when its parent dies; called before its program starts."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != _own_pid:  # the parent died before the call above
        os._exit(1)


_libc = ctypes.CDLL(None)  # loaded before any fork
_own_pid = os.getpid()


def _watch(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, or a container that forbids it
        return None


def main() -> None:
    """Run the supervisor for the descriptor and the owner in the command-line arguments."""
    control = socket.socket(fileno=int(sys.argv[1]))
    owner = _watch(int(sys.argv[2]))
    if os.getppid() != int(sys.argv[2]):
        return  # the owner died before it could be watched
    wakeup, alarm = socket.socketpair()
    alarm.settimeout(0)
    signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    # The owner handles a Ctrl-C in the terminal.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    Supervisor(control).run(wakeup, owner)


if __name__ == "__main__":
    main()
