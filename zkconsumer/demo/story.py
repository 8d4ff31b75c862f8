"""Plays the acts of the demo in order; each ends with an awaited condition."""

from collections.abc import Callable, Sequence
from pathlib import Path

from zkconsumer.demo.acts import Acts
from zkconsumer.demo.group_watch import GroupWatch
from zkconsumer.demo.members import DemoMember, our_member
from zkconsumer.demo.picture import picture
from zkconsumer.demo.tally import DeliveryAudit, Tally
from zkconsumer.demo.traffic import TrafficWriter
from zkconsumer.errors import SandboxError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.processes import SupervisedProcesses
from zkconsumer.scope import ThreadScope

TOPIC = "weblog"
GROUP = "demo"
PARTITIONS = 8
_ACT_TIMEOUT_MS = 45_000
_SHOW_INTERVAL_MS = 1000
_SCALA_CONFIG = """\
group.id={group}
zookeeper.connect={zookeeper}
zookeeper.session.timeout.ms=4000
rebalance.backoff.ms=1500
rebalance.max.retries=8
auto.commit.interval.ms=1000
"""


class Story(Acts):
    """Plays the demo on a running sandbox. Thread: one.

    Args:
        cluster: the sandbox.
        folder: the folder for logs and configuration files.
        write: prints text for the audience.
        lines_per_second: the producer's rate.
    """

    def __init__(
        self,
        cluster: Sandbox,
        folder: Path,
        write: Callable[[str], None],
        *,
        lines_per_second: int,
    ) -> None:
        super().__init__(_ACT_TIMEOUT_MS)
        self._cluster = cluster
        self._folder, self._write = folder, write
        self._tally = Tally()
        self._members: list[DemoMember] = []
        self._names: dict[str, str] = {}
        """The members' names, by consumer id."""
        self._shown_ms = 0
        self._writing = ThreadScope("demo")
        self._partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        cluster.create_topic(TOPIC, PARTITIONS, replication=len(cluster.brokers))
        self._watch = GroupWatch(cluster.zookeeper_connect, GROUP, self._partitions)
        self._traffic = TrafficWriter(
            cluster.brokers,
            self._partitions,
            lines_per_second=lines_per_second,
        )
        self._processes = SupervisedProcesses()

    def play(self) -> DeliveryAudit:
        """Play all acts; return the final audit."""
        self._writing.spawn("traffic", self._traffic.run, stop=self._traffic.stop)
        self._join()
        self._show("one Scala and two Python members share the group", 5)
        self._kill_a_member()
        self._restart_a_broker()
        self._drain()
        return self._tally.outcome(set(range(self._traffic.acknowledged_count)))

    def close(self) -> None:
        """Stop all processes and threads."""
        self._traffic.stop()
        for member in self._members:
            member.stop()
        self._writing.close(10_000)
        self._processes.close()
        self._watch.close()

    def _join(self) -> None:
        # As an operator would do before the first start, so that no reset policy decides.
        self._watch.set_offsets(0)
        config = self._folder / "scala.properties"
        zookeeper = self._cluster.zookeeper_connect
        config.write_text(_SCALA_CONFIG.format(group=GROUP, zookeeper=zookeeper))
        tool = self._cluster.scala_tool(
            "kafka.tools.ConsoleConsumer",
            *("--zookeeper", zookeeper, "--topic", TOPIC, "--consumer.config", str(config)),
        )
        self._add(DemoMember("scala", tool))
        for number in (1, 2):
            arguments = ["--zookeeper", zookeeper, "--topic", TOPIC]
            arguments += ["--consumer.config", str(config)]
            self._add(our_member(f"python-{number}", arguments, self._folder, self._processes))

    def _add(self, member: DemoMember) -> None:
        """Add a member; wait until each partition has an owner, and each member a partition."""
        self._members.append(member)
        count = len(self._members)
        self._await(
            f"{member.name} joins", lambda: len(self._watch.owning_members() - set(self._names)) > 0
        )
        self._await(
            f"all partitions have owners again, {count} members",
            lambda: len(self._watch.owning_members()) == count,
        )
        for consumer_id in self._watch.owning_members() - set(self._names):
            self._names[consumer_id] = member.name

    def _kill_a_member(self) -> None:
        victim = self._members[1]
        self._write(f"-- SIGKILL to {victim.name} (process {victim.process_id})")
        victim.kill()
        self._await(
            f"the others take over the partitions of {victim.name}",
            lambda: self._all_owned_without(victim),
        )
        self._show(f"{victim.name} is gone, its partitions are not", 3)

    def _all_owned_without(self, gone: DemoMember) -> bool:
        owners = self._watch.owning_members()
        return bool(owners) and gone.name not in {self._names.get(owner) for owner in owners}

    def _restart_a_broker(self) -> None:
        broker = self._cluster.brokers[0]
        self._write(f"-- {broker} is killed")
        self._cluster.kill_broker(broker.id)
        self._show("the other broker leads everything", 4)
        self._write(f"-- {broker} starts again")
        self._cluster.start_broker(broker.id)
        self._show("both brokers are back", 3)

    def _drain(self) -> None:
        """Stop writing, and wait until every acknowledged line was delivered."""
        self._traffic.stop()
        left = self._writing.close(20_000)
        if left:
            raise SandboxError(f"the producer does not end: {left}")
        numbers = range(self._traffic.acknowledged_count)
        self._await(
            "every acknowledged line is delivered", lambda: self._tally.misses(numbers) == 0
        )
        self._show("everything is delivered", 1)

    # --- watching -----------------------------------------------------------------------------

    def _show(self, title: str, snapshots: int) -> None:
        for _ in range(snapshots):
            self._show_state(title)
            self._pause.wait(_SHOW_INTERVAL_MS / 1000)

    def _meanwhile(self, what: str) -> None:
        for member in self._members:
            words = member.last_words()
            if words is not None:
                raise SandboxError(f"{member.name} ended by itself: {words}")
        if self._clock.now_ms() - self._shown_ms > _SHOW_INTERVAL_MS:
            self._show_state(f"until {what} ...")
        self._take()

    def _show_state(self, title: str) -> None:
        self._shown_ms = self._clock.now_ms()
        self._take()
        try:
            lines = self._watch.lines()
        except ZkConsumerError:
            return
        written = f"written: {self._traffic.acknowledged_count}"
        self._write(picture(f"{title} ({written})", lines, self._names, self._tally.by_member))

    def _take(self) -> None:
        for member in self._members:
            self._tally.add(member.name, member.take())


def audit_lines(outcome: DeliveryAudit) -> Sequence[str]:
    """Return the closing lines with the audit."""
    lines = [
        "",
        f"acknowledged by the brokers: {outcome.acknowledged}",
        f"delivered at least once:     {outcome.delivered}",
        f"lost:                        {outcome.lost_count}",
        f"came twice:                  {outcome.repeated} (after the kill and the restart)",
    ]
    if outcome.lost:
        lines.append(f"the first that were lost: {', '.join(map(format, outcome.lost))}")
    return lines
