"""Plays a migration from 0.8.2.2 to Kafka 4: mirror, migrate the group, verify, switch.

A producer writes and a group reads almost all the time. Every line has a number, and at the end all
acknowledged lines are counted, whichever cluster they were written to.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zkconsumer.demo.acts import Acts
from zkconsumer.demo.group_watch import GroupWatch
from zkconsumer.demo.members import DemoMember, our_member
from zkconsumer.demo.tally import DeliveryAudit, Tally
from zkconsumer.demo.traffic import TrafficWriter
from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess, SupervisedProcesses
from zkconsumer.scope import ThreadScope

TOPIC: Final = "weblog"
GROUP: Final = "billing"
MIRROR_GROUP: Final = "mirror"
PARTITIONS: Final = 4
_ACT_TIMEOUT_MS: Final = 60_000
_LIVE_MS: Final = 3_000
_COMMAND_S: Final = 120
_NOT_YET: Final = 3
_FAULTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingOutcome:
    """The result of the migration.

    Attributes:
        audit: the final count of the lines that the group delivered.
        written_before: the number of lines that the old cluster acknowledged.
        written_after: the number of lines that the new cluster acknowledged.
        is_proven: whether the mirror's proof found every message.
        switch_ms: how long the producer was stopped, while the mirror copied the rest.
    """

    audit: DeliveryAudit
    written_before: int
    written_after: int
    is_proven: bool
    switch_ms: int


class Leaving(Acts):
    """Plays the migration on two running clusters. Thread: one."""

    def __init__(
        self,
        old: Sandbox,
        new: KraftNode,
        folder: Path,
        write: Callable[[str], None],
        *,
        lines_per_second: int,
    ) -> None:
        super().__init__(_ACT_TIMEOUT_MS)
        self._old, self._new = old, new
        self._folder, self._write = folder, write
        self._rate = lines_per_second
        self._tally = Tally()
        self._scope = ThreadScope("leaving")
        self._partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        self._offsets_file = folder / "offsets.jsonl"
        self._mirror: ChildProcess | None = None
        self._member: DemoMember | None = None
        self._writer: TrafficWriter | None = None
        old.create_topic(TOPIC, PARTITIONS, replication=len(old.brokers))
        self._watches = {
            group: GroupWatch(old.zookeeper_connect, group, self._partitions)
            for group in (GROUP, MIRROR_GROUP)
        }
        self._processes = SupervisedProcesses()

    def play(self) -> LeavingOutcome:
        """Play all acts; return the result.

        Raises:
            SandboxError: an act did not end in time, or a command or process failed.
        """
        before = self._begin_writing(self._old.brokers, 0)
        self._watches[GROUP].set_offsets(0)
        self._member = self._join("old", "--zookeeper", self._old.zookeeper_connect)
        self._await("the group reads the old cluster", lambda: self._delivered() > 0)
        self._write("-- what stands in the way")
        zookeeper = self._old.zookeeper_connect
        self._run("doctor", "--zookeeper", zookeeper, "--ready-for", "4.0", allowed=_FAULTS)
        self._begin_mirror()
        self._await("the mirror copies", self._offsets_file.exists)
        self._live("the producer writes, the group reads, the mirror copies")
        self._migrate_group()
        self._live("the group reads the new cluster, the producer still writes to the old one")
        switch_ms = self._switch(before)
        new_brokers = parse_bootstrap("bootstrap.servers", self._new.bootstrap_servers)
        after = self._begin_writing(new_brokers, before.acknowledged_count)
        is_proven = self._verify()
        self._live("producer and group are on the new cluster; the old one is of no use any more")
        self._end_writing(after)
        numbers = range(after.acknowledged_count)
        self._await("every line is delivered", lambda: self._misses(numbers) == 0)
        return LeavingOutcome(
            audit=self._tally.outcome(set(numbers)),
            written_before=before.acknowledged_count,
            written_after=after.acknowledged_count - before.acknowledged_count,
            is_proven=is_proven,
            switch_ms=switch_ms,
        )

    def close(self) -> None:
        """End all processes and threads."""
        if self._writer is not None:
            self._writer.stop()
        if self._member is not None:
            self._member.stop()
        self._end_mirror()
        self._processes.close()
        self._scope.close(20_000)
        for watch in self._watches.values():
            watch.close()

    # --- acts ---------------------------------------------------------------------------------

    def _begin_writing(self, brokers: tuple[Broker, ...], first: int) -> TrafficWriter:
        writer = TrafficWriter(brokers, self._partitions, lines_per_second=self._rate, first=first)
        self._scope.spawn("writer", writer.run, stop=writer.stop)
        self._writer = writer
        return writer

    def _end_writing(self, writer: TrafficWriter) -> None:
        writer.stop()
        self._await("the producer ends", lambda: writer.has_ended)

    def _begin_mirror(self) -> None:
        self._write("-- mirror: the old cluster's topic is copied to the new one as it grows")
        arguments = ["--zookeeper", self._old.zookeeper_connect, "--group", MIRROR_GROUP]
        arguments += ["--whitelist", TOPIC, "--create-topics"]
        arguments += ["--target-bootstrap-servers", self._new.bootstrap_servers]
        arguments += ["--offsets-file", str(self._offsets_file)]
        arguments += ["--offset.commit.interval.ms", "500"]
        log_file = self._folder / "mirror.log"
        self._mirror = self._processes.spawn(
            [sys.executable, "-m", "zkconsumer", "mirror", *arguments],
            cwd=Path.cwd(),
            files=ChildFiles(stdout=log_file, stderr=log_file),
        )

    def _end_mirror(self) -> None:
        if self._mirror is not None:
            self._mirror.stop(_COMMAND_S * 1000)

    def _migrate_group(self) -> None:
        """Stop the old member, translate its offsets by the mirror's file, and start a new one."""
        self._write(f"-- migrate group {GROUP}: its member on the old cluster is stopped")
        assert self._member is not None
        self._member.stop()
        self._take()
        old, new = self._folder / "old.csv", self._folder / "new.csv"
        self._run(
            *("offsets", "export", "--zookeeper", self._old.zookeeper_connect),
            *("--group", GROUP, "--csv", "--output-file", str(old)),
        )
        translating = ["mirror", "translate", "--offsets-file", str(self._offsets_file)]
        translating += ["--input-file", str(old), "--group", GROUP, "--output-file", str(new)]
        # Status 3: the mirror has not yet copied all records that the group has read.
        self._await(
            "the mirror has copied what the group has read",
            lambda: self._run(*translating, allowed=_NOT_YET) == 0,
        )
        self._run(
            *("offsets", "import", "--bootstrap-server", self._new.bootstrap_servers),
            *("--storage", "kafka", "--group", GROUP, "--input-file", str(new)),
            *("--roll-back-file", str(self._folder / "roll-back.json")),
        )
        self._member = self._join("new", "--bootstrap-server", self._new.bootstrap_servers)
        seen = self._delivered()
        self._await("the group goes on on the new cluster", lambda: self._delivered() > seen)

    def _switch(self, before: TrafficWriter) -> int:
        """Stop the producer until the mirror has copied all; return the duration, ms."""
        self._write("-- switch: the producer stops, and the mirror copies the rest")
        began_ms = self._clock.now_ms()
        self._end_writing(before)
        lines = self._watches[MIRROR_GROUP].lines

        def is_copied() -> bool:
            return all(line.lag == 0 for line in lines())

        self._await("all is copied", is_copied)
        return self._clock.now_ms() - began_ms

    def _verify(self) -> bool:
        """Compare both clusters, message by message, with the mirror stopped."""
        self._end_mirror()
        arguments = ["--zookeeper", self._old.zookeeper_connect, "--group", MIRROR_GROUP]
        arguments += ["--target-bootstrap-servers", self._new.bootstrap_servers]
        arguments += ["--offsets-file", str(self._offsets_file)]
        return self._run("mirror", "verify", *arguments, allowed=_FAULTS) == 0

    # --- watching -----------------------------------------------------------------------------

    def _join(self, name: str, *address: str) -> DemoMember:
        arguments = [*address, "--topic", TOPIC, "--group", GROUP]
        return our_member(name, arguments, self._folder, self._processes)

    def _run(self, *words: str, allowed: int = 0) -> int:
        """Run and show a command; return its status.

        Raises:
            SandboxError: its status is neither 0 nor the allowed one.
        """
        self._write(f"$ zkconsumer {' '.join(words)}")
        done = subprocess.run(  # noqa: S603 - our own command, our own arguments
            [sys.executable, "-m", "zkconsumer", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
        )
        output = (done.stdout + done.stderr).rstrip()
        if output:
            self._write(output)
        if done.returncode not in {0, allowed}:
            raise SandboxError(f"zkconsumer {words[0]} ended with {done.returncode}")
        return done.returncode

    def _delivered(self) -> int:
        self._take()
        return self._tally.by_member.total()

    def _misses(self, numbers: range) -> int:
        self._take()
        return self._tally.misses(numbers)

    def _take(self) -> None:
        if self._member is not None:
            self._tally.add(self._member.name, self._member.take())

    def _live(self, title: str) -> None:
        self._pause.wait(_LIVE_MS / 1000)
        written = 0 if self._writer is None else self._writer.acknowledged_count
        self._write(f"   {title}: {written} written, {self._delivered()} delivered")

    def _meanwhile(self, what: str) -> None:
        del what
        if self._mirror is not None and self._mirror.poll() not in {None, 0}:
            last = (self._folder / "mirror.log").read_text("utf-8", "replace")[-500:]
            raise SandboxError(f"the mirror ended by itself: {last}")
        words = None if self._member is None else self._member.last_words()
        if words is not None:
            raise SandboxError(f"the group's member ended by itself: {words}")


def leaving_lines(outcome: LeavingOutcome) -> list[str]:
    """Return the closing lines."""
    audit = outcome.audit
    return [
        "",
        f"acknowledged by the old cluster: {outcome.written_before}",
        f"acknowledged by the new cluster: {outcome.written_after}",
        f"delivered at least once:         {audit.delivered} of {audit.acknowledged}",
        f"lost:                            {audit.lost_count}",
        f"came twice:                      {audit.repeated}",
        f"the mirror's proof:              {'every message' if outcome.is_proven else 'FAILED'}",
        f"nobody could write for:          {outcome.switch_ms / 1000:.1f} s",
    ]
