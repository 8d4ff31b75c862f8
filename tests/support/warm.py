"""Processes of Python that begin at once: forked by one that has loaded what they consist of.

``Popen`` and ``run`` are those of ``subprocess`` and start the same: children of this process, with
files, a folder, an environment, signals and an exit status of their own. To load a command or a
member takes a third of a second of processor time, and tests with servers start hundreds of them.
What is no module, wants another interpreter or another engine, starts as ever; and so does all that
is started while limits, ignored signals or variables are not those of the process's beginning.

That a program finds all that it imports is seen where ``subprocess`` itself starts it, as in
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
_HANDED_ON: Final = {"self", "args", "cwd", "env", "start_new_session", *_PIPES}
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
"""All else that ``_execute_child`` is given; what says anything else is not forked."""
_INHERITED: Final = ("Umask:", "Tgid:", "Uid:", "Gid:", "SigBlk:", "SigIgn:", "Cpus_allowed:")
"""How lines of ``/proc`` begin that a child has of its parent; and whose child it is."""
_OF_THE_START: Final = (
    *("PYTHON", "ZKCONSUMER_PURE", "LC_", "LANG", "LD_"),
    *("MALLOC_", "GLIBC_TUNABLES", "ARROW_", "OPENBLAS_", "OMP_"),
)
"""How variables begin that are obeyed when a process starts."""
_UNBUFFERED: Final = "PYTHONUNBUFFERED"
_LOADED_LATE: Final = (
    "cli.consume.polled",
    "connector.connector",
    "consumer.kafka_consumer",
    "drain.local.launch",
    "fetch.manager",
    "membership.zookeeper.polled.member",
    "metrics.scraping",
    "web.app",
    "web.serving",
)
"""Modules that are imported where they are needed, below ``zkconsumer``."""


class _Order(TypedDict):
    """What a child is to be."""

    module: str
    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    leads_session: bool


class Popen(subprocess.Popen[AnyStr]):
    """A process as that of ``subprocess``; ``python -m MODULE`` is forked."""

    def _execute_child(self, *given: Any) -> None:
        # The only thing that a class of its own would have to do anew is all the rest.
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
    """Run a process to its end, as ``subprocess.run`` does; it gets no input."""
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
    """What a child is to be, by the arguments of ``_execute_child``; None: nothing to fork."""
    words = list(map(os.fsdecode, named["args"]))
    more = {name: given for name, given in named.items() if name not in _HANDED_ON}
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
    """What children have of this thread beside variables; None: it is not known here."""
    if sys.platform != "linux":
        return None
    status = Path("/proc/thread-self/status").read_text().splitlines()
    limits = Path("/proc/self/limits").read_text()
    return [limits, *(line for line in status if line.startswith(_INHERITED))]


class _Forker:
    """The process that forks, as its parent sees it: started when it is needed, and when it died.

    Attributes:
        process: it; None where there is none.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._lock = threading.Lock()
        atexit.register(self._end)

    def fork(self, order: _Order, files: Sequence[int]) -> int | None:
        """Have a child of this process made, with these as its standard files.

        Returns:
            Its id, when it is what was ordered; None: it could not be made.
        """
        packet = json.dumps(order).encode()
        with self._lock:
            try:
                if self.process is None:
                    self._start()
                child = self._ask(packet, files)
            except OSError:
                self._end()
                return None
            except BaseException:
                self._end()  # its answer would be taken for that to the next order
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

    def _ask(self, packet: bytes, files: Sequence[int]) -> int:
        self._channel.settimeout(_TIMEOUT_S)
        # Its parent ends at once, and this process is to get it; but no other orphans.
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
"""What there was when this was loaded, and is when the process that forks is started."""
_forker: Final = _Forker()


# --- in the process that forks --------------------------------------------------------------------


def _await_order(channel: socket.socket) -> tuple[_Order, list[int]] | None:
    """Fork for each order, which returns in the child; None: there will be no more."""
    while True:
        packet, files, _, _ = socket.recv_fds(channel, _LONGEST, len(_ENDS))
        if not packet:
            return None
        order: _Order = json.loads(packet)
        gate, opener = os.pipe()
        try:
            _load(order["module"])
            is_child = _fork_twice()
        except (Exception, SystemExit):  # noqa: BLE001 - it will say so when it starts as ever
            is_child = False
            channel.send(b"0")
        if is_child:
            os.close(opener)
            os.read(gate, 1)  # until it has its parent
            os.close(gate)
            return order, files
        for file in (gate, opener, *files):
            os.close(file)


def _fork_twice() -> bool:
    """Make a child of nobody; whether this is it."""
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
    """Load what a program consists of; itself it is run by each of its processes."""
    _load_package()
    if module != "zkconsumer":
        import_module(module)
        del sys.modules[module]
    gc.collect()
    gc.freeze()


@cache
def _load_package() -> None:
    """Load all commands, and what they and consumers load when they run."""
    from zkconsumer.cli import commands  # noqa: PLC0415 - the parent has no need of it

    import_module("zkconsumer.cli.main")
    for command in commands.every_command():
        commands.load_command(command)
    for name in _LOADED_LATE:
        import_module(f"zkconsumer.{name}")


def _become(order: _Order, files: Sequence[int]) -> None:
    """Make a fork what a process would be that has just started."""
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
    obeyed = signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a Ctrl-C only forks are to know
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        found = _await_order(channel)
        if found is None:
            return
        signal.signal(signal.SIGINT, obeyed)
        try:
            _become(*found)
        except OSError:
            channel.send(b"%d" % -os.getpid())
            os._exit(1)
        channel.send(b"%d" % os.getpid())
    runpy.run_module(found[0]["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
