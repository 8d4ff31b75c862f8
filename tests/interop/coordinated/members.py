"""Members of a coordinator's group, each a process: ours, kafka-python's, Java's console one.

Values identify what they deliver: ``topic:partition:number``, as ``traffic`` writes them.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tests.interop.members import REPOSITORY
from tests.support import warm
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.sandbox import ScalaTool

Library = Literal["zkconsumer", "kafka"]
Fact = dict[str, Any]


class Delivered(NamedTuple):
    """A record that a poll returned."""

    topic: str
    partition: int
    offset: int
    value: str


class ClientMember:
    """A process that runs ``client_member`` with one of the libraries.

    Args:
        library: ours, or kafka-python.
        subscription: the keyword arguments of ``subscribe``.
        settings: those of ``KafkaConsumer``.
        folder: for its output; is created here.
    """

    def __init__(
        self,
        library: Library,
        subscription: Mapping[str, object],
        settings: Mapping[str, object],
        folder: Path,
    ) -> None:
        folder.mkdir(parents=True)
        self.library = library
        self.name = folder.name
        self._folder = folder
        self._facts: list[Fact] = []
        self._read_bytes = 0
        arguments = [library, json.dumps(dict(subscription)), json.dumps(dict(settings))]
        with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as errors:
            self._process = warm.Popen[bytes](
                [sys.executable, "-m", "tests.interop.coordinated.client_member", *arguments],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
            )

    # --- what it printed --------------------------------------------------------------------------

    @property
    def facts(self) -> list[Fact]:
        """Everything that it printed, in order; a line cut off by a kill does not count."""
        with (self._folder / "stdout").open("rb") as output:
            output.seek(self._read_bytes)
            whole, end, _ = output.read().rpartition(b"\n")
        self._read_bytes += len(whole) + len(end)
        self._facts += [json.loads(line) for line in whole.splitlines()]
        return self._facts

    @property
    def delivered(self) -> list[Delivered]:
        """The records of its polls, in order."""
        return [Delivered(*record) for fact in self.facts for record in fact.get("records", ())]

    @property
    def values(self) -> list[str]:
        """The values delivered so far."""
        return [delivered.value for delivered in self.delivered]

    @property
    def owned(self) -> set[str]:
        """The assigned partitions that were not revoked or lost since, as ``topic:partition``."""
        owned: set[str] = set()
        for fact in self.facts:
            owned |= set(fact.get("assigned", ()))
            owned -= {*fact.get("revoked", ()), *fact.get("lost", ())}
        return owned

    @property
    def changes(self) -> list[Fact]:
        """The calls of its listener, in order."""
        calls = {"assigned", "revoked", "lost"}
        return [fact for fact in self.facts if not calls.isdisjoint(fact)]

    def reported(self, key: str) -> list[Any]:
        """The values of all facts with this key, such as ``lost``."""
        return [fact[key] for fact in self.facts if key in fact]

    @property
    def failures(self) -> list[Fact]:
        """The calls that raised."""
        return [fact for fact in self.facts if "failed" in fact]

    @property
    def errors(self) -> str:
        """Its standard error."""
        return (self._folder / "stderr").read_text("utf-8", "replace")

    @property
    def history(self) -> list[Fact]:
        """Its facts as operations of a history; kafka-python makes no promises here."""
        promises = ["order"] if self.library == "zkconsumer" else []
        operations = [_declared(self.name, promises)]
        reader, requested = {"process": self.name, "member": self.name}, None
        for fact in self.facts:
            if "records" in fact:
                # Two polls may start within one millisecond, with a rebalance in between.
                if fact["requested"] != requested or "messages" not in operations[-1]:
                    requested = fact["requested"]
                    invoke = {"type": "invoke", "f": "poll", "time": requested}
                    ok = {"type": "ok", "f": "poll", "time": fact["given"], "messages": []}
                    operations += [{**reader, **invoke}, {**reader, **ok}]
                operations[-1]["messages"] += fact["records"]
            for f in {"assigned", "revoked", "lost"} & fact.keys():
                names = [value.rpartition(":") for value in fact[f]]
                partitions = [[topic, int(number)] for topic, _, number in names]
                when = {"time": requested or 0, "partitions": partitions}
                operations.append({**reader, "type": "info", "f": f, **when})
        return operations

    # --- commands ---------------------------------------------------------------------------------

    def send_command(self, command: str) -> None:
        """Send a command and wait until it is done; see ``client_member``."""
        before = len(self.reported("done"))
        self.queue_command(command)
        wait_until(lambda: len(self.reported("done")) > before, what=f"{command}; {self._end()}")

    def queue_command(self, command: str) -> None:
        """Send a command without waiting; a frozen member reads it when it is resumed."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()

    def commit(self) -> Fact:
        """Let it commit what was delivered to it; return the outcome."""

        def outcomes() -> list[Fact]:
            return [
                fact
                for fact in self.facts
                if "commit" in (fact.get("succeeded"), fact.get("failed"))
            ]

        before = len(outcomes())
        self.queue_command("commit")
        return wait_until(lambda: outcomes()[before:], what=f"the commit; {self._end()}")[0]

    def leave(self) -> None:
        """Close the consumer, and wait for the process to end."""
        if self._process.poll() is None:
            self.queue_command("leave")
        self._close_input()
        status = self._process.wait(30)
        assert status == 0, f"{self.library} ended with {status}: {self._end()}"
        assert self.reported("left"), self._end()

    def kill(self) -> None:
        """Kill it with ``SIGKILL``: it does not leave the group."""
        self._process.kill()
        self._process.wait()
        self._close_input()

    def pause(self) -> None:
        """Freeze it with ``SIGSTOP``."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it with ``SIGCONT``."""
        self._process.send_signal(signal.SIGCONT)

    def check(self) -> None:
        """Check that it runs, or was asked to end.

        Raises:
            AssertionError: it ended by itself; the message has its last output.
        """
        status = self._process.poll()
        ended = (
            status is not None
            and self._process.stdin is not None
            and not self._process.stdin.closed
        )
        assert not ended, f"{self.library} ended by itself with {status}: {self._end()}"

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _end(self) -> str:
        tail = [json.dumps(fact) for fact in self.facts[-3:]]
        return f"last: {' '.join(tail)[-600:]}; errors: {self.errors[-1200:]}"


class JavaMember:
    """The console consumer of a Kafka version, as a member of a coordinator's group."""

    def __init__(self, tool: ScalaTool) -> None:
        self.tool = tool
        self.name = tool.folder.name
        self._reported = False
        self._clock = SystemClock()
        self._began_ms = self._clock.wall_ms()

    @property
    def values(self) -> list[str]:
        """The values it printed so far."""
        return self.tool.lines

    @property
    def history(self) -> list[Fact]:
        """What it printed; the time is only known to be between its start and now."""
        messages = [[None, None, None, value] for value in self.values]
        when = {"since": self._began_ms, "time": self._clock.wall_ms()}
        poll = {"process": self.name, "type": "ok", "f": "poll", "member": self.name}
        return [_declared(self.name, []), {**poll, **when, "messages": messages}]

    def check(self) -> None:
        """Check that it runs, or was asked to end; see ``ClientMember``."""
        assert self._reported or self.tool.poll() is None, (
            f"Java ended by itself: {self.tool.errors}"
        )

    def leave(self) -> None:
        """Ask it to end (it commits and leaves the group), and wait for that."""
        assert self.tool.poll() is None, f"ended by itself: {self.tool.errors}"
        self._reported = True
        assert self.tool.stop(), "it did not end when asked to"

    def kill(self) -> None:
        """Kill it with ``SIGKILL``: its session lasts until it times out."""
        self._reported = True
        self.tool.kill()

    def pause(self) -> None:
        """Freeze it."""
        self.tool.pause()

    def resume(self) -> None:
        """Resume it."""
        self.tool.resume()


PollMember = ClientMember | JavaMember


def _declared(name: str, promises: list[str]) -> Fact:
    head = {"process": name, "type": "info", "f": "member", "time": 0, "member": name}
    return {**head, "promises": promises, "start": "earliest"}


def all_values(members: Collection[PollMember]) -> list[str]:
    """The values that all of them delivered, sorted."""
    return sorted(value for member in members for value in member.values)
