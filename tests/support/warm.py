"""Processes of Python that begin at once: forked by one that has loaded what they consist of.

``Popen`` and ``run`` are those of ``subprocess`` and start the same: children of this process, with
files, a folder, an environment, signals and an exit status of their own. To load a command or a
member takes a third of a second of processor time, and tests with servers start hundreds of them.
What is no module, wants another interpreter or another engine, starts as ever.

That a program finds all that it imports is seen where ``subprocess`` itself starts it, as in
``tests/docs`` and ``tests/integration/sandbox``.

``python -m tests.support.warm NUMBER`` is the process that forks; NUMBER is its socket.
"""

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
_SET_CHILD_SUBREAPER: Final = 36
_ENDS: Final = ("p2cread", "c2pwrite", "errwrite")
_PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_OF_THE_START: Final = ("PYTHON", "ZKCONSUMER_PURE", "LC_", "LANG", "LD_", "MALLOC_")
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
        order = _order(named) if sys.platform == "linux" else None
        if order is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        files = [named[end] if named[end] >= 0 else number for number, end in enumerate(_ENDS)]
        self.pid = _forker().fork(order, files)
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
    words = list(named["args"])
    if words[:2] != [sys.executable, "-m"] or named["pass_fds"] or named["preexec_fn"]:
        return None
    environment = dict(os.environ if named["env"] is None else named["env"])
    if _of_the_start(environment) != _of_the_start(os.environ):
        return None
    return _Order(
        module=words[2],
        arguments=words[3:],
        folder=os.fspath(named["cwd"] or os.getcwd()),
        environment=environment,
        leads_session=named["start_new_session"],
    )


def _of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in environment.items()
        if name.startswith(_OF_THE_START) and name != _UNBUFFERED
    }


class _Forker:
    """The process that forks, as its parent sees it."""

    def __init__(self) -> None:
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=_REPOSITORY,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def fork(self, order: _Order, files: Sequence[int]) -> int:
        """Have a child of this process made, with these as its standard files; gives its id."""
        packet = json.dumps(order).encode()
        assert len(packet) < _LONGEST, order
        with self._lock:
            # Its parent ends at once, and this process is to get it; but no other orphans.
            self._kernel.prctl(_SET_CHILD_SUBREAPER, 1)
            try:
                socket.send_fds(self._channel, [packet], list(files))
                child = self._channel.recv(_LONGEST)
                assert self._channel.recv(_LONGEST) == b"made", f"no process for {order}"
            finally:
                self._kernel.prctl(_SET_CHILD_SUBREAPER, 0)
        return int(child)


@cache
def _forker() -> _Forker:
    return _Forker()


# --- in the process that forks --------------------------------------------------------------------


def _await_order(channel: socket.socket) -> tuple[_Order, list[int]] | None:
    """Fork for each order, which returns in the child; None: there will be no more."""
    while True:
        packet, files, _, _ = socket.recv_fds(channel, _LONGEST, len(_ENDS))
        if not packet:
            return None
        order: _Order = json.loads(packet)
        _load(order["module"])
        gate, opener = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child == 0:
                os.close(opener)
                os.read(gate, 1)  # until it has its parent
                os.close(gate)
                return order, files
            channel.send(str(child).encode())
            os._exit(0)
        os.waitpid(between, 0)
        os.close(opener)
        os.close(gate)
        channel.send(b"made")
        for file in files:
            os.close(file)


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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["folder"])
    sys.path[0] = order["folder"]
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a Ctrl-C only forks are to know
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        found = _await_order(channel)
    if found is not None:
        _become(*found)
        runpy.run_module(found[0]["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
