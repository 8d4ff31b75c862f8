"""A chaos run, from the first member to the result."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.chaos.cast import OurMember
from tests.chaos.cluster import GROUP, ORIGINAL, OURS, TOPICS, ChaosCluster
from tests.chaos.faults import Fault, shuffled_faults
from tests.chaos.history import check_ends, history_of, leftovers_of
from tests.chaos.read_logs import Logs, read_logs, replica_ends
from tests.histories.assembly import assemble
from tests.histories.checker import check_operations
from tests.histories.losses import fetched_by_killed
from tests.histories.operations import parse, write_file
from tests.histories.rules import CheckResult
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition

HISTORY = "history.ndjson"
_SETTLE_S = 60
_CALM_SHARE = 0.5
_DRAIN_S = 120
_STOP_MS = 30_000

WriteLine = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The results of a run.

    Attributes:
        seed: repeats the same faults.
        faults: how often each kind was inflicted.
        stalled: how often the original made no progress without a fault, and was replaced.
        tries: sets that the producers sent, and how many of those failed.
        errors: what members of ours raised, by text.
        seconds: the time that faults went on.
        result: the results of the checks.
    """

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    stalled: int = 0
    tries: tuple[int, int] = (0, 0)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: float = 0
    result: CheckResult = field(default_factory=CheckResult)


def run(
    folder: Path,
    *,
    seed: int,
    minutes: float,
    rate: int,
    write: WriteLine,
    most_faults: int | None = None,
    over_tls: bool = False,
) -> Outcome:
    """Inflict faults, let members read all, and check the history.

    Args:
        folder: for all files; an empty one.
        seed: that of the faults. Their effects still differ between runs.
        minutes: how long faults go on.
        rate: messages per second.
        write: prints a line of progress.
        most_faults: their maximum number; None for as many as there is time for.
        over_tls: see ``ChaosCluster``.

    Raises:
        AssertionError: a wait timed out, or a member ended without a fault.
    """
    outcome = Outcome(seed=seed)
    with ChaosCluster(folder, messages_per_second=rate, over_tls=over_tls) as cluster:
        Scenario(cluster, outcome, write).run(minutes, most_faults)
        cluster.collect()
        history = history_of(cluster, read_logs(cluster.sandbox, cluster.partitions()))
        leftovers = leftovers_of(cluster)
    write_file(folder / HISTORY, history)
    outcome.result = check_operations(history)
    check_ends(leftovers, outcome.result)
    return outcome


class Scenario:
    """The phases of a run."""

    def __init__(self, cluster: ChaosCluster, outcome: Outcome, write: WriteLine) -> None:
        self._stage = cluster
        self._outcome = outcome
        self._write = write
        self._began_ms = cluster.clock.now_ms()

    def run(self, minutes: float, most_faults: int | None) -> None:
        """Start members, inflict faults, stop them, and let members leave."""
        cluster = self._stage
        with cluster.load:
            for slot in (*OURS, ORIGINAL):
                cluster.enter(slot)
            self._settle("all members share the group")
            self._strike(minutes, most_faults)
            self._settle("faults are over")
            cluster.load.stop()
            _, *tries = cluster.load.counts()
            self._outcome.tries = (tries[0], tries[1])
        self._drain()
        self._leave()

    def _strike(self, minutes: float, most_faults: int | None) -> None:
        cluster, rng = self._stage, random.Random(self._outcome.seed)
        start_ms = cluster.clock.now_ms()
        until_ms = start_ms + int(minutes * 60_000)
        for fault in islice(shuffled_faults(rng), most_faults):
            if cluster.clock.now_ms() >= until_ms:
                break
            self._inflict(fault, rng)
            if rng.random() < _CALM_SHARE:
                self._settle("at rest")
        self._outcome.seconds = (cluster.clock.now_ms() - start_ms) / 1000

    def _inflict(self, fault: Fault, rng: random.Random) -> None:
        self._write(f"{self._at()}  {fault.name} ...")
        began_ms = self._stage.clock.now_ms()
        what = fault.inflict(self._stage, rng)
        self._outcome.faults[fault.name] += 1
        took_ms = self._stage.clock.now_ms() - began_ms
        self._write(f"{self._at()}  {fault.name}: {what} ({took_ms / 1000:.1f} s)")

    def _settle(self, what: str) -> None:
        """Wait until the group is stable and has delivered all acknowledged messages."""
        cluster = self._stage
        try:
            self._await_rest()
        except AssertionError:
            if self._excuse_losses_of_the_original():
                self._await_rest()
                return
            if not self._only_the_original_lags():
                raise
            # The original can give up without a fault, and then the group waits for it.
            self._outcome.stalled += 1
            self._write(f"{self._at()}  the original stands still: replaced")
            cluster.running.pop(ORIGINAL).kill()
            cluster.enter(ORIGINAL)
            self._await_rest()
        count, _, failures = cluster.load.counts()
        self._write(
            f"{self._at()}  {what}: {count} acknowledged ({failures} tries failed), "
            f"{cluster.delivered()} deliveries"
        )

    def _await_rest(self) -> None:
        cluster = self._stage
        try:
            cluster.wait(
                lambda: not cluster.unsettled(), timeout_s=_SETTLE_S, what="the group to rest"
            )
        except AssertionError as error:
            raise AssertionError(f"{error}: {cluster.unsettled()}") from None
        wanted = cluster.load.offsets()
        try:
            cluster.wait(
                lambda: not cluster.missing(wanted),
                timeout_s=_SETTLE_S,
                what=f"{len(wanted)} acknowledged messages to be delivered",
            )
        except AssertionError as error:
            missing = Counter(str(wanted[value][0]) for value in cluster.missing(wanted))
            raise AssertionError(f"{error}; missing {dict(missing)}") from None

    def _excuse_losses_of_the_original(self) -> bool:
        """Excuse missing messages that a killed original had fetched; tell if there are any."""
        history = assemble(parse(history_of(self._stage, None)))
        taken = [
            value
            for value in self._stage.missing(self._stage.load.offsets())
            if fetched_by_killed(history, history.places[value])
        ]
        self._stage.excuse(taken)
        return bool(taken)

    def _only_the_original_lags(self) -> bool:
        """Tell whether all partitions that are not read belong to the original."""
        cluster = self._stage
        snapshot = cluster.peek.snapshot(sorted({tp.topic for tp in cluster.partitions()}))
        original = cluster.running[ORIGINAL].consumer_id
        lagging = {
            tp for tp, owner in snapshot.assigned.items() if snapshot.owners.get(tp) != owner
        }
        wanted = cluster.load.offsets()
        lagging |= {str(wanted[value][0]) for value in cluster.missing(wanted)}
        return bool(lagging) and all(
            snapshot.assigned[tp].rpartition("-")[0] == original for tp in lagging
        )

    def _drain(self) -> None:
        """Wait until everything in the log is delivered and committed."""
        cluster = self._stage
        log = wait_until(self._settled_logs, timeout_s=_SETTLE_S, what="replicas with one end")
        assert log is not None
        self._write(f"{self._at()}  {len(log.positions)} messages in the log")
        cluster.wait(
            lambda: not cluster.missing(log.positions),
            timeout_s=_DRAIN_S,
            what="the log to be read",
        )
        try:
            cluster.wait(
                lambda: cluster.tree.offsets(GROUP) == log.ends,
                timeout_s=_DRAIN_S,
                what="all committed",
            )
        except AssertionError as error:
            raise AssertionError(f"{error}; {self._uncommitted(log.ends)}") from None

    def _settled_logs(self) -> Logs | None:
        """Read the logs; return None while a replica has more or less than is committed.

        A set that was not acknowledged in time may still become part of the log.
        """
        cluster = self._stage
        log = read_logs(cluster.sandbox, cluster.partitions())
        ends = [replica_ends(broker, list(log.ends)) for broker in cluster.sandbox.brokers]
        return log if all(of_broker == log.ends for of_broker in ends) else None

    def _uncommitted(self, ends: Mapping[TopicPartition, int]) -> str:
        cluster = self._stage
        committed = cluster.tree.offsets(GROUP)
        owners = cluster.peek.snapshot(list(TOPICS)).owners
        partitions = ", ".join(
            f"{tp} at {committed.get(tp)} of {end}, owner {owners.get(str(tp))}"
            for tp, end in ends.items()
            if committed.get(tp) != end
        )
        output = "".join(
            f"\n{member.consumer_id}: {member.stderr_tail()}"
            for member in cluster.running.values()
            if isinstance(member, OurMember)
        )
        return f"{partitions}; {cluster.unsettled() or 'the group rests'}{output}"

    def _leave(self) -> None:
        """End all members gracefully: ours first, then the original, when it is alone and stable.

        During a rebalance its shutdown would make all its remaining tries fail (KAFKA-1848).
        """
        cluster = self._stage
        for slot in OURS:
            member = cluster.running.pop(slot)
            assert isinstance(member, OurMember)
            assert member.stop(_STOP_MS), (
                f"{member.consumer_id} did not end: {member.stderr_tail()}"
            )
            assert member.poll() == 0, f"{member.consumer_id} died: {member.stderr_tail()}"
        cluster.wait(
            lambda: not cluster.unsettled(), timeout_s=_SETTLE_S, what="the original alone"
        )
        cluster.running.pop(ORIGINAL).stop(_STOP_MS)
        cluster.wait(
            lambda: not cluster.tree.members(GROUP), timeout_s=_SETTLE_S, what="an empty group"
        )
        self._write(f"{self._at()}  everybody has left")
        for member in cluster.all_members:
            if isinstance(member, OurMember):
                self._outcome.errors.update(member.errors)

    def _at(self) -> str:
        return f"{(self._stage.clock.now_ms() - self._began_ms) / 1000:7.1f}"
