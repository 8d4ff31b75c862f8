"""Operators for Airflow 3: land topics exactly once, then prove it.

They run the command ``zkconsumer``, which may be installed anywhere, so that Airflow's environment
stays as it is. What a run prints goes to files of a folder, its exit status, too: whoever can read
the folder and sees the process can wait for it, a worker or a triggerer.

Linux only: processes are looked up in ``/proc``.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.triggers.base import BaseTrigger, TriggerEvent

Sentences = Callable[[str], None]
"""Takes a line for the task's log."""

_NOTING_THE_STATUS = """\
trap : INT TERM
"$@" >"$RUN_FOLDER/output" 2>"$RUN_FOLDER/errors" </dev/null
echo $? >"$RUN_FOLDER/status.new"
mv "$RUN_FOLDER/status.new" "$RUN_FOLDER/status"
"""
"""A shell that lets signals go by, since they are for the command in it."""
_LOOK_S = 1.0
_KILLED_S = 5.0
_POLL_S = 0.1


class CommandRun:
    """A command that runs by itself, and what it says. It outlives the process that started it.

    Args:
        folder: its files.
        pid: the shell around it, which leads a process group.
        born: when the process began, as the system counts: another one may get the number.
        host: where it runs.
    """

    def __init__(self, folder: str, pid: int, born: int, host: str) -> None:
        self.place = {"folder": folder, "pid": pid, "born": born, "host": host}
        self._folder = Path(folder)
        self._pid = pid
        self._born = born
        self._is_here = host == socket.gethostname()
        self._shown = {"output": 0, "errors": 0}

    @classmethod
    def started(cls, command: Sequence[str], parent: str | None, env: Mapping[str, str]) -> Self:
        """Start a command.

        Args:
            command: program and arguments.
            parent: where to make the folder; None for the system's own place.
            env: added to the environment.
        """
        folder = tempfile.mkdtemp(prefix="zkconsumer-", dir=parent)
        process = subprocess.Popen(
            ["sh", "-c", _NOTING_THE_STATUS, "sh", *command],
            env={**os.environ, **env, "RUN_FOLDER": folder},
            start_new_session=True,
        )
        return cls(folder, process.pid, _born(process.pid) or 0, socket.gethostname())

    def status(self) -> int | None:
        """Return the exit status; None while there is none."""
        try:
            return int((self._folder / "status").read_text())
        except FileNotFoundError:
            return None

    def is_over(self) -> bool:
        """Return whether it has ended, be it without a status, as by SIGKILL.

        The command is waited for though the shell around it was killed. A process of another
        machine is waited for, as long as its folder is there.
        """
        if self.status() is not None:
            return True
        return not (self._is_running() if self._is_here else self._folder.is_dir())

    def show_news(self, say: Sentences) -> None:
        """Show complete lines that were written since the last time, those of JSON as a text."""
        for name, seen in self._shown.items():
            lines = self._bytes(name, seen).rpartition(b"\n")[0]
            if not lines:
                continue
            self._shown[name] = seen + len(lines) + 1
            for line in lines.decode(errors="replace").splitlines():
                text = line if name == "errors" else _progress(line)
                if text:
                    say(text)

    def output(self) -> str:
        """Return what went to standard output."""
        return self._bytes("output").decode(errors="replace")

    def complaint(self) -> str:
        """Return the last line of standard error."""
        lines = self._bytes("errors").decode(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "it wrote nothing")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs here."""
        if self._is_here and not self.is_over():
            with suppress(ProcessLookupError):
                os.killpg(self._pid, number)

    def remove(self) -> None:
        """Delete its files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _is_running(self) -> bool:
        """Return whether a process of it is left: the shell, or else another of its group."""
        shell = _fields(self._pid)
        if shell is not None:
            return _started_at(shell) == self._born
        found = (_fields(int(entry.name)) for entry in Path("/proc").glob("[0-9]*"))
        return any(fields is not None and int(fields[2]) == self._pid for fields in found)

    def _bytes(self, name: str, start: int = 0) -> bytes:
        """Read a file from a place on; empty where the shell has not made it yet."""
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(start)
                return file.read()
        except FileNotFoundError:
            return b""


def _born(pid: int) -> int | None:
    """Return when a process began; None if there is none that runs."""
    fields = _fields(pid)
    return None if fields is None else _started_at(fields)


def _fields(pid: int) -> list[str] | None:
    """Return what the system tells of a process, from its state on; None if none runs."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields


def _started_at(fields: list[str]) -> int:
    return int(fields[19])


def _progress(line: str) -> str | None:
    """Describe a line of ``zkconsumer drain --json``; None for what is none."""
    try:
        report = json.loads(line)
    except ValueError:
        return None
    if not isinstance(report, dict) or "landed" not in report:
        return None
    batch = f"batch {report['batch']}: {report['rows']:,} messages; " if "batch" in report else ""
    lag = f", {report['lag']:,} to go" if "lag" in report else ""
    return f"{batch}{report['landed']:,} offsets landed{lag}"


class CommandTrigger(BaseTrigger):
    """Waits for a run, and shows how far it is.

    Args:
        place: of the run.
        grace_s: how long the run may take to end in order, when somebody ends the task.
        until: when it is ended, in seconds since the epoch; None for never.
    """

    def __init__(self, place: dict[str, Any], grace_s: float, until: float | None) -> None:
        super().__init__()
        self._place = place
        self._grace_s = grace_s
        self._until = until
        self._run = CommandRun(**place)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """See ``BaseTrigger``."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return name, {"place": self._place, "grace_s": self._grace_s, "until": self._until}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """See ``BaseTrigger``. A triggerer that is restarted goes on waiting."""
        while not self._run.is_over():
            self._run.show_news(self.log.info)
            if self._until is not None and time.time() > self._until:
                self.log.error("It takes longer than execution_timeout: ending it")
                await asyncio.to_thread(_end, self._run, self._grace_s)
                break
            await asyncio.sleep(_LOOK_S)
        self._run.show_news(self.log.info)
        yield TriggerEvent(self._place)

    async def on_kill(self) -> None:
        """See ``BaseTrigger``: the run is ended in order. Airflow gives this 30 s of its own."""
        await asyncio.to_thread(_end, self._run, self._grace_s)
        # The task is not resumed.
        self._run.remove()


def _end(run: CommandRun, grace_s: float) -> None:
    """End a run behind its batch; then at once, and then by force. A drain survives each."""
    steps = (
        (signal.SIGTERM, grace_s),
        (signal.SIGTERM, _KILLED_S),
        (signal.SIGKILL, _KILLED_S),
    )
    for number, patience_s in steps:
        run.signal(number)
        for _ in range(round(patience_s / _POLL_S)):
            if run.is_over():
                return
            time.sleep(_POLL_S)


class ZkconsumerOperator(BaseOperator):
    """Runs a command of zkconsumer's; the base of those below.

    Args:
        path: where the drain lies.
        zookeeper: the cluster by its ZooKeeper.
        bootstrap_servers: the cluster by its brokers.
        arguments: further ones of the command, such as ``["--format", "iceberg"]``.
        program: how the command is called; a list, such as ``["/opt/zkconsumer/bin/zkconsumer"]``.
        env: added to its environment, such as ``AWS_REGION``.
        deferrable: leave the waiting to a triggerer, which must see the same processes and files.
        run_folder: where runs keep their files while they last; the system's place if None.
        grace_s: how long it may take to end in order, when somebody ends the task.
        kwargs: Airflow's own.
    """

    template_fields: Sequence[str] = (
        "path",
        "zookeeper",
        "bootstrap_servers",
        "arguments",
        "program",
        "env",
    )

    def __init__(
        self,
        *,
        path: str,
        zookeeper: str | None = None,
        bootstrap_servers: str | None = None,
        arguments: Sequence[str] = (),
        program: Sequence[str] = ("zkconsumer",),
        env: Mapping[str, str] | None = None,
        deferrable: bool = False,
        run_folder: str | None = None,
        grace_s: float = 15,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.path = path
        self.zookeeper = zookeeper
        self.bootstrap_servers = bootstrap_servers
        self.arguments = list(arguments)
        self.program = list(program)
        self.env = dict(env or {})
        self.deferrable = deferrable
        self.run_folder = run_folder
        self.grace_s = grace_s
        self._run: CommandRun | None = None

    def words(self) -> list[str]:
        """Return what follows the program's name."""
        raise NotImplementedError

    def judged(self, status: int | None, run: CommandRun) -> dict[str, Any]:
        """Return what the run came to.

        Raises:
            AirflowFailException: another try would come to the same.
            AirflowException: another try may help.
        """
        raise NotImplementedError

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the command; what it came to is the task's XCom."""
        given = {"--zookeeper": self.zookeeper, "--bootstrap-servers": self.bootstrap_servers}
        cluster = [word for flag, value in given.items() if value for word in (flag, value)]
        command = [*self.program, *self.words(), *cluster, *self.arguments]
        self._run = CommandRun.started(command, self.run_folder, self.env)
        if self.deferrable:
            # Airflow itself does not end what is deferred, and would leave the command alone.
            limit = self.execution_timeout
            until = None if limit is None else time.time() + limit.total_seconds()
            trigger = CommandTrigger(self._run.place, self.grace_s, until)
            self.defer(trigger=trigger, method_name="resumed")
        while not self._run.is_over():
            self._run.show_news(self.log.info)
            time.sleep(_LOOK_S)
        self._run.show_news(self.log.info)
        return self.resumed(context, self._run.place)

    def resumed(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Judge a run that is over."""
        del context
        run = CommandRun(**event)
        try:
            return self.judged(run.status(), run)
        finally:
            run.remove()

    def on_kill(self) -> None:
        """End the command in order. What a triggerer waits for is ended by ``CommandTrigger``."""
        if self._run is not None:
            _end(self._run, self.grace_s)
            self._run.remove()


class ZkconsumerDrainOperator(ZkconsumerOperator):
    """Lands topics exactly once. A task that is tried again goes on where it was.

    Its XCom is the last line of ``zkconsumer drain --json``: ``rows``, ``batches``, ``expired``.

    Args:
        topics: by name.
        group: whose offsets say how far it has come; none if None.
        kwargs: see ``ZkconsumerOperator``.
    """

    template_fields = (*ZkconsumerOperator.template_fields, "topics", "group")

    def __init__(self, *, topics: Sequence[str], group: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.topics = topics if isinstance(topics, str) else list(topics)
        self.group = group

    def words(self) -> list[str]:
        """See ``ZkconsumerOperator``."""
        topics = self.topics if isinstance(self.topics, str) else ",".join(self.topics)
        group = ["--group", self.group] if self.group else []
        where = ["--topics", topics, "--to", self.path, *group]
        return ["drain", "--engine", "local", "--once", "--json", *where]

    def judged(self, status: int | None, run: CommandRun) -> dict[str, Any]:
        """See ``ZkconsumerOperator``."""
        if status == 0:
            summary: dict[str, Any] = json.loads(run.output().splitlines()[-1])
            return summary
        if status == 2:
            raise AirflowFailException(f"wrong usage: {run.complaint()}")
        if status is None:
            raise AirflowException(
                "the drain was killed, or its run folder is gone; another try goes on where it was"
            )
        raise AirflowException(f"the drain ended with {status}: {run.complaint()}")


class ZkconsumerVerifyOperator(ZkconsumerOperator):
    """Proves that every offset was landed exactly once, or fails.

    Its XCom is a summary of ``zkconsumer drain verify --json``.
    """

    def words(self) -> list[str]:
        """See ``ZkconsumerOperator``."""
        return ["drain", "verify", self.path, "--engine", "local", "--json"]

    def judged(self, status: int | None, run: CommandRun) -> dict[str, Any]:
        """See ``ZkconsumerOperator``."""
        if status == 0:
            return _summary(json.loads(run.output()))
        if status == 1:
            raise AirflowFailException(f"NOT PROVEN: {_summary(json.loads(run.output()))}")
        raise AirflowException(f"could not tell: {_doubts(run)}")


def _summary(proof: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of a proof, and the first sentences of what is wrong."""
    parts = proof["partitions"]
    kinds = ("gap", "duplicate", "stray", "compacted", "expired")
    return {
        **{name: proof[name] for name in ("path", "format", "verdict", "batches")},
        "partitions": len(parts),
        "rows": sum(part["rows"] for part in parts),
        "dead_lettered": proof["dead_lettered"],
        **{kind: sum(part[kind]["offsets"] for part in parts) for kind in kinds},
        "problems": proof["problems"][:10],
    }


def _doubts(run: CommandRun) -> str:
    """Return why a proof could not tell: it says so in its JSON, or has none."""
    with suppress(ValueError):
        return "; ".join(json.loads(run.output())["open"][:10])
    return run.complaint()
