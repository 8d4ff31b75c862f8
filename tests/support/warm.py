"""Python processes that start fast: forked from a process that has loaded their modules.

``Popen`` and ``run`` behave like those of ``subprocess``: they start children of this process with
their own files, working directory, environment, signals and exit status. Loading a command or a
member takes a third of a second of CPU time, and tests with servers start hundreds of them.
Programs that are not modules, or need another interpreter or engine, are started by ``subprocess``;
so are all programs while limits, ignored signals or variables differ from those at this process's
start.

Whether a program can import all it needs is tested where ``subprocess`` itself starts it, as in
``tests/docs`` and ``tests/integration/sandbox``.

``python -m tests.support.warm NUMBER`` is the process that forks; NUMBER is its socket.
"""

import atexit
import ctypes
import gc
import inspect
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, AnyStr, Final, TypedDict, cast

_REPOSITORY: Final = Path(__file__).parents[2]
_LONGEST: Final = 1 << 17
_TIMEOUT_S: Final = 60
_SET_CHILD_SUBREAPER: Final = 36
_ENDS: Final = ("p2cread", "c2pwrite", "errwrite")
_PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_PASSED_ON: Final = {"self", "args", "cwd", "env", "start_new_session", *_PIPES}
_USUAL: Final = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "startupinfo": None,
    "creationflags": 0,
    "shell": False,
    "restore_signals": True,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}
"""The other arguments of ``_execute_child``; processes with other values are not forked."""
_INHERITED: Final = ("Umask:", "Tgid:", "Uid:", "Gid:", "SigBlk:", "SigIgn:", "Cpus_allowed:")
"""The starts of lines in ``/proc`` that a child inherits, or that identify its parent."""
_OF_THE_START: Final = (
    *("PYTHON", "ZKCONSUMER_PURE", "LC_", "LANG", "LD_"),
    *("MALLOC_", "GLIBC_TUNABLES", "ARROW_", "OPENBLAS_", "OMP_"),
)
"""Prefixes of variables that only take effect when a process starts."""
_UNBUFFERED: Final = "PYTHONUNBUFFERED"
_LOADED_LATE: Final = (
    "cli.consume.polled",
    "connector.connector",
    "consumer.coordinator_settings",
    "consumer.kafka_consumer",
    "drain.local.launch",
    "fetch.leader_finder",
    "membership.coordinator.polled.member",
    "membership.zookeeper.polled.member",
    "metrics.scraping",
    "web.app",
    "web.serving",
)
"""Modules below ``zkconsumer`` that are imported on demand."""


class _Order(TypedDict):
    """The description of a child."""

    module: str
    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    leads_session: bool


class Popen(subprocess.Popen[AnyStr]):
    """A ``subprocess.Popen`` that forks processes of the form ``python -m MODULE``."""

    def _execute_child(self, *given: Any) -> None:
        # Overriding only this method keeps everything else of ``subprocess.Popen``.
        named = _signature().bind(self, *given).arguments
        order = _order(named)
        files = [named[end] if named[end] >= 0 else number for number, end in enumerate(_ENDS)]
        child = None if order is None else _forker.fork(order, files)
        if child is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        self.pid = child
        self._child_created = True
        self._close_pipe_fds(*(named[end] for end in _PIPES))  # type: ignore[attr-defined]


def run(
    command: Sequence[str],
    *,
    capture_output: bool = False,
    check: bool = False,
    timeout: float | None = None,
    **more: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Run a process to its end like ``subprocess.run``, without input."""
    if capture_output:
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(command, **more) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, cast("int", process.returncode), output, errors)
    if check:
        done.check_returncode()
    return done


@cache
def _signature() -> inspect.Signature:
    return inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]


def _order(named: Mapping[str, Any]) -> _Order | None:
    """Return the child for these arguments of ``_execute_child``; None: it can't be forked."""
    words = list(map(os.fsdecode, named["args"]))
    more = {name: given for name, given in named.items() if name not in _PASSED_ON}
    environment = dict(os.environ if named["env"] is None else named["env"])
    if (
        words[:2] != [sys.executable, "-m"]
        or not more.items() <= _USUAL.items()
        or not _START[0] == _of_the_start(os.environ) == _of_the_start(environment)
        or _START[1] != _inherited()
    ):
        return None
    return _Order(
        module=words[2],
        arguments=words[3:],
        folder=os.path.abspath(os.fsdecode(named["cwd"] or "")),
        environment=environment,
        leads_session=named["start_new_session"],
    )


def _of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in environment.items()
        if name.startswith(_OF_THE_START) and name != _UNBUFFERED
    }


def _inherited() -> list[str] | None:
    """Return what children inherit of this thread besides variables; None: unknown here."""
    if sys.platform != "linux":
        return None
    status = Path("/proc/thread-self/status").read_text().splitlines()
    limits = Path("/proc/self/limits").read_text()
    return [limits, *(line for line in status if line.startswith(_INHERITED))]


class _Forker:
    """The parent's side of the process that forks, which is started on demand and after a crash.

    Attributes:
        process: the process that forks; None if it does not run.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._lock = threading.Lock()
        atexit.register(self._end)

    def fork(self, order: _Order, files: Sequence[int]) -> int | None:
        """Let a child of this process be forked, with these as its standard files.

        Returns:
            The child's id once it is set up; None: it could not be forked.
        """
        packet = json.dumps(order).encode()
        with self._lock:
            try:
                if self.process is None:
                    self._start()
                child = self._request(packet, files)
            except OSError:
                self._end()
                return None
            except BaseException:
                self._end()  # its late response would be taken for the next order's
                raise
        if child < 0:
            os.waitpid(-child, 0)
        return child if child > 0 else None

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=_REPOSITORY,
                env={name: text for name, text in os.environ.items() if name != _UNBUFFERED},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def _request(self, packet: bytes, files: Sequence[int]) -> int:
        self._channel.settimeout(_TIMEOUT_S)
        # The child's parent exits at once, so that this process adopts it, but no other orphans.
        self._adopt(True)
        try:
            socket.send_fds(self._channel, [packet], list(files))
            response = self._channel.recv(_LONGEST)
        finally:
            self._adopt(False)
        if not response:
            raise ConnectionError("the process that forks is gone")
        return int(response)

    def _adopt(self, orphans: bool) -> None:
        if self._kernel.prctl(_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0):
            raise OSError(ctypes.get_errno(), "orphans are not adopted here")

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            self._channel.close()
            process.kill()
            process.wait()


_START: Final = (_of_the_start(os.environ), _inherited())
"""Variables and inherited properties when this module was loaded."""
_forker: Final = _Forker()


# --- in the process that forks --------------------------------------------------------------------


def _await_order(channel: socket.socket) -> tuple[_Order, list[int]] | None:
    """Fork for each order; returns in the child, or with None when there will be no more orders."""
    while True:
        packet, files, _, _ = socket.recv_fds(channel, _LONGEST, len(_ENDS))
        if not packet:
            return None
        order: _Order = json.loads(packet)
        gate, opener = os.pipe()
        try:
            _load(order["module"])
            is_child = _fork_twice()
        except (Exception, SystemExit):  # noqa: BLE001 - subprocess will start it, and report
            is_child = False
            channel.send(b"0")
        if is_child:
            os.close(opener)
            os.read(gate, 1)  # wait until the new parent has adopted this process
            os.close(gate)
            return order, files
        for file in (gate, opener, *files):
            os.close(file)


def _fork_twice() -> bool:
    """Fork an orphan; return True in it, and False in the caller."""
    between = os.fork()
    if between == 0:
        try:
            child = os.fork()
        except OSError:
            os._exit(1)
        if child == 0:
            return True
        os._exit(0)
    _, status = os.waitpid(between, 0)
    if status:
        raise ChildProcessError("no second fork")
    return False


@cache
def _load(module: str) -> None:
    """Load a program's imports; the program itself is run by each of its processes."""
    _load_package()
    if module != "zkconsumer":
        import_module(module)
        del sys.modules[module]
    gc.collect()
    gc.freeze()


@cache
def _load_package() -> None:
    """Load all commands, and the modules that they and consumers import on demand."""
    from zkconsumer.cli import commands  # noqa: PLC0415 - the parent does not need it

    import_module("zkconsumer.cli.main")
    for command in commands.every_command():
        commands.load_command(command)
    for name in _LOADED_LATE:
        import_module(f"zkconsumer.{name}")


def _become(order: _Order, files: Sequence[int]) -> None:
    """Make a fork look like a process that has just started."""
    if order["leads_session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["folder"])
    sys.path[0] = os.getcwd()
    sys.argv[1:] = order["arguments"]
    assert isinstance(sys.stdout, io.TextIOWrapper)
    if order["environment"].get(_UNBUFFERED):
        sys.stdout = io.TextIOWrapper(
            cast("Any", io.FileIO(1, "w", closefd=False)),
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            write_through=True,
        )
    else:
        sys.stdout.reconfigure(line_buffering=os.isatty(1))


def _main() -> None:
    obeyed = signal.signal(signal.SIGINT, signal.SIG_IGN)  # only forks shall react to Ctrl-C
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        order_and_files = _await_order(channel)
        if order_and_files is None:
            return
        signal.signal(signal.SIGINT, obeyed)
        try:
            _become(*order_and_files)
        except OSError:
            channel.send(b"%d" % -os.getpid())
            os._exit(1)
        channel.send(b"%d" % os.getpid())
    runpy.run_module(order_and_files[0]["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
