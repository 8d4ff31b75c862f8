"""A chaos run, from the first member to the verdict."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.chaos.cast import OurMember
from tests.chaos.faults import Fault, shuffled_faults
from tests.chaos.read_logs import Logs, read_logs, replica_ends
from tests.chaos.stage import GROUP, ORIGINAL, OURS, TOPICS, Stage
from tests.chaos.verdict import check_ends, history_of, leftovers_of
from tests.histories.assembly import assemble
from tests.histories.judge import judge
from tests.histories.losses import taken_by_killed
from tests.histories.operations import parse, write_file
from tests.histories.rules import Verdict
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
        verdict: the results of the checks.
    """

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    stalled: int = 0
    tries: tuple[int, int] = (0, 0)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: float = 0
    verdict: Verdict = field(default_factory=Verdict)


def run(
    folder: Path,
    *,
    seed: int,
    minutes: float,
    rate: int,
    write: WriteLine,
    most_faults: int | None = None,
) -> Outcome:
    """Inflict faults, let members read all, and check the history.

    Args:
        folder: for all files; an empty one.
        seed: that of the faults. Their effects still differ between runs.
        minutes: how long faults go on.
        rate: messages per second.
        write: prints a line of progress.
        most_faults: their maximum number; None for as many as there is time for.

    Raises:
        AssertionError: a wait timed out, or a member ended without a fault.
    """
    outcome = Outcome(seed=seed)
    with Stage(folder, messages_per_second=rate) as stage:
        Scenario(stage, outcome, write).run(minutes, most_faults)
        stage.collect()
        history = history_of(stage, read_logs(stage.cluster, stage.partitions()))
        leftovers = leftovers_of(stage)
    write_file(folder / HISTORY, history)
    outcome.verdict = judge(history)
    check_ends(leftovers, outcome.verdict)
    return outcome


class Scenario:
    """The phases of a run."""

    def __init__(self, stage: Stage, outcome: Outcome, write: WriteLine) -> None:
        self._stage = stage
        self._outcome = outcome
        self._write = write
        self._began_ms = stage.clock.now_ms()

    def run(self, minutes: float, most_faults: int | None) -> None:
        """Start members, inflict faults, stop them, and let members leave."""
        stage = self._stage
        with stage.load:
            for slot in (*OURS, ORIGINAL):
                stage.enter(slot)
            self._settle("all members share the group")
            self._strike(minutes, most_faults)
            self._settle("faults are over")
            stage.load.stop()
            _, *tries = stage.load.counts()
            self._outcome.tries = (tries[0], tries[1])
        self._drain()
        self._leave()

    def _strike(self, minutes: float, most_faults: int | None) -> None:
        stage, rng = self._stage, random.Random(self._outcome.seed)
        start_ms = stage.clock.now_ms()
        until_ms = start_ms + int(minutes * 60_000)
        for fault in islice(shuffled_faults(rng), most_faults):
            if stage.clock.now_ms() >= until_ms:
                break
            self._inflict(fault, rng)
            if rng.random() < _CALM_SHARE:
                self._settle("at rest")
        self._outcome.seconds = (stage.clock.now_ms() - start_ms) / 1000

    def _inflict(self, fault: Fault, rng: random.Random) -> None:
        self._write(f"{self._at()}  {fault.name} ...")
        began_ms = self._stage.clock.now_ms()
        what = fault.inflict(self._stage, rng)
        self._outcome.faults[fault.name] += 1
        took_ms = self._stage.clock.now_ms() - began_ms
        self._write(f"{self._at()}  {fault.name}: {what} ({took_ms / 1000:.1f} s)")

    def _settle(self, what: str) -> None:
        """Wait until the group is stable and has delivered all acknowledged messages."""
        stage = self._stage
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
            stage.running.pop(ORIGINAL).kill()
            stage.enter(ORIGINAL)
            self._await_rest()
        count, _, failures = stage.load.counts()
        self._write(
            f"{self._at()}  {what}: {count} acknowledged ({failures} tries failed), "
            f"{stage.delivered()} deliveries"
        )

    def _await_rest(self) -> None:
        stage = self._stage
        try:
            stage.wait(lambda: not stage.unsettled(), timeout_s=_SETTLE_S, what="the group to rest")
        except AssertionError as error:
            raise AssertionError(f"{error}: {stage.unsettled()}") from None
        wanted = stage.load.offsets()
        try:
            stage.wait(
                lambda: not stage.missing(wanted),
                timeout_s=_SETTLE_S,
                what=f"{len(wanted)} acknowledged messages to be delivered",
            )
        except AssertionError as error:
            missing = Counter(str(wanted[value][0]) for value in stage.missing(wanted))
            raise AssertionError(f"{error}; missing {dict(missing)}") from None

    def _excuse_losses_of_the_original(self) -> bool:
        """Excuse missing messages that a killed original had fetched; tell if there are any."""
        history = assemble(parse(history_of(self._stage, None)))
        taken = [
            value
            for value in self._stage.missing(self._stage.load.offsets())
            if taken_by_killed(history, history.places[value])
        ]
        self._stage.excuse(taken)
        return bool(taken)

    def _only_the_original_lags(self) -> bool:
        """Tell whether all partitions that are not read belong to the original."""
        stage = self._stage
        snapshot = stage.peek.snapshot(sorted({tp.topic for tp in stage.partitions()}))
        original = stage.running[ORIGINAL].consumer_id
        lagging = {
            tp for tp, owner in snapshot.assigned.items() if snapshot.owners.get(tp) != owner
        }
        wanted = stage.load.offsets()
        lagging |= {str(wanted[value][0]) for value in stage.missing(wanted)}
        return bool(lagging) and all(
            snapshot.assigned[tp].rpartition("-")[0] == original for tp in lagging
        )

    def _drain(self) -> None:
        """Wait until everything in the log is delivered and committed."""
        stage = self._stage
        log = wait_until(self._settled_logs, timeout_s=_SETTLE_S, what="replicas with one end")
        assert log is not None
        self._write(f"{self._at()}  {len(log.positions)} messages in the log")
        stage.wait(
            lambda: not stage.missing(log.positions), timeout_s=_DRAIN_S, what="the log to be read"
        )
        try:
            stage.wait(
                lambda: stage.tree.offsets(GROUP) == log.ends,
                timeout_s=_DRAIN_S,
                what="all committed",
            )
        except AssertionError as error:
            raise AssertionError(f"{error}; {self._uncommitted(log.ends)}") from None

    def _settled_logs(self) -> Logs | None:
        """Read the logs; return None while a replica has more or less than is committed.

        A set that was not acknowledged in time may still become part of the log.
        """
        stage = self._stage
        log = read_logs(stage.cluster, stage.partitions())
        ends = [replica_ends(broker, list(log.ends)) for broker in stage.cluster.brokers]
        return log if all(of_broker == log.ends for of_broker in ends) else None

    def _uncommitted(self, ends: Mapping[TopicPartition, int]) -> str:
        stage = self._stage
        committed = stage.tree.offsets(GROUP)
        owners = stage.peek.snapshot(list(TOPICS)).owners
        partitions = ", ".join(
            f"{tp} at {committed.get(tp)} of {end}, owner {owners.get(str(tp))}"
            for tp, end in ends.items()
            if committed.get(tp) != end
        )
        output = "".join(
            f"\n{member.consumer_id}: {member.stderr_tail()}"
            for member in stage.running.values()
            if isinstance(member, OurMember)
        )
        return f"{partitions}; {stage.unsettled() or 'the group rests'}{output}"

    def _leave(self) -> None:
        """End all members gracefully: ours first, then the original, when it is alone and stable.

        During a rebalance its shutdown would make all its remaining tries fail (KAFKA-1848).
        """
        stage = self._stage
        for slot in OURS:
            member = stage.running.pop(slot)
            assert isinstance(member, OurMember)
            assert member.stop(_STOP_MS), (
                f"{member.consumer_id} did not end: {member.stderr_tail()}"
            )
            assert member.poll() == 0, f"{member.consumer_id} died: {member.stderr_tail()}"
        stage.wait(lambda: not stage.unsettled(), timeout_s=_SETTLE_S, what="the original alone")
        stage.running.pop(ORIGINAL).stop(_STOP_MS)
        stage.wait(
            lambda: not stage.tree.members(GROUP), timeout_s=_SETTLE_S, what="an empty group"
        )
        self._write(f"{self._at()}  everybody has left")
        for member in stage.all_members:
            if isinstance(member, OurMember):
                self._outcome.errors.update(member.errors)

    def _at(self) -> str:
        return f"{(self._stage.clock.now_ms() - self._began_ms) / 1000:7.1f}"
