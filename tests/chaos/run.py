"""A chaos run from its first member to its verdict."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.chaos.cast import OurActor
from tests.chaos.faults import Fault, draw
from tests.chaos.read_logs import Logs, read_logs, replica_ends
from tests.chaos.stage import GROUP, ORIGINAL, OURS, TOPICS, Stage
from tests.chaos.verdict import history_of, judge_ends, left_by
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

Say = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run has to show.

    Attributes:
        seed: repeats the same faults.
        faults: how often each kind struck.
        wedged: how often the original was found to stand still by itself, and was replaced.
        tries: sets that the producers sent, and how many of those failed.
        errors: what members of ours raised, by text.
        seconds: how long faults went on.
        verdict: the checks.
    """

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    wedged: int = 0
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
    write: Say,
    most_faults: int | None = None,
) -> Outcome:
    """Let faults strike for so long, let everything come to rest, and judge.

    Args:
        folder: for all files; an empty one.
        seed: of the faults. What they meet differs from run to run all the same.
        minutes: how long faults go on.
        rate: messages a second.
        write: told what goes on.
        most_faults: how many strike at most; None: as many as there is time for.

    Raises:
        AssertionError: something that was waited for did not come, or a member died by itself.
    """
    outcome = Outcome(seed=seed)
    with Stage(folder, messages_per_second=rate) as stage:
        Play(stage, outcome, write).play(minutes, most_faults)
        stage.look()
        history = history_of(stage, read_logs(stage.cluster, stage.partitions()))
        left_behind = left_by(stage)
    write_file(folder / HISTORY, history)
    outcome.verdict = judge(history)
    judge_ends(left_behind, outcome.verdict)
    return outcome


class Play:
    """What happens on a stage."""

    def __init__(self, stage: Stage, outcome: Outcome, write: Say) -> None:
        self._stage = stage
        self._outcome = outcome
        self._write = write
        self._began_ms = stage.clock.now_ms()

    def play(self, minutes: float, most_faults: int | None) -> None:
        """Members come, faults strike, faults stop, members go."""
        stage = self._stage
        with stage.load:
            for place in (*OURS, ORIGINAL):
                stage.enter(place)
            self._settle("all members share the group")
            self._strike(minutes, most_faults)
            self._settle("faults are over")
            stage.load.stop()
            _, *tries = stage.load.counts()
            self._outcome.tries = (tries[0], tries[1])
        self._drain()
        self._leave()

    def _strike(self, minutes: float, most_faults: int | None) -> None:
        stage, chance = self._stage, random.Random(self._outcome.seed)
        start_ms = stage.clock.now_ms()
        until_ms = start_ms + int(minutes * 60_000)
        for fault in islice(draw(chance), most_faults):
            if stage.clock.now_ms() >= until_ms:
                break
            self._inflict(fault, chance)
            if chance.random() < _CALM_SHARE:
                self._settle("at rest")
        self._outcome.seconds = (stage.clock.now_ms() - start_ms) / 1000

    def _inflict(self, fault: Fault, chance: random.Random) -> None:
        self._write(f"{self._at()}  {fault.name} ...")
        began_ms = self._stage.clock.now_ms()
        what = fault.inflict(self._stage, chance)
        self._outcome.faults[fault.name] += 1
        took_ms = self._stage.clock.now_ms() - began_ms
        self._write(f"{self._at()}  {fault.name}: {what} ({took_ms / 1000:.1f} s)")

    def _settle(self, what: str) -> None:
        """Wait until the group rests and has delivered what is acknowledged now."""
        stage = self._stage
        try:
            self._await_rest()
        except AssertionError:
            if self._excuse_what_the_original_took():
                self._await_rest()
                return
            if not self._only_the_original_lags():
                raise
            # It gave up by itself, as it can: the group waits for it, and nobody else is to blame.
            self._outcome.wedged += 1
            self._write(f"{self._at()}  the original stands still: replaced")
            stage.actors.pop(ORIGINAL).kill()
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

    def _excuse_what_the_original_took(self) -> bool:
        """Whether what is missing was in the hand of an original that was killed."""
        history = assemble(parse(history_of(self._stage, None)))
        taken = [
            value
            for value in self._stage.missing(self._stage.load.offsets())
            if taken_by_killed(history, history.places[value])
        ]
        self._stage.excuse(taken)
        return bool(taken)

    def _only_the_original_lags(self) -> bool:
        """Whether all that is not read falls to the original."""
        stage = self._stage
        look = stage.peek.look(sorted({tp.topic for tp in stage.partitions()}))
        original = stage.actors[ORIGINAL].consumer_id
        lagging = {tp for tp, owner in look.assigned.items() if look.owners.get(tp) != owner}
        wanted = stage.load.offsets()
        lagging |= {str(wanted[value][0]) for value in stage.missing(wanted)}
        return bool(lagging) and all(
            look.assigned[tp].rpartition("-")[0] == original for tp in lagging
        )

    def _drain(self) -> None:
        """Everything in the log is delivered, and committed."""
        stage = self._stage
        log = wait_until(self._whole_logs, timeout_s=_SETTLE_S, what="replicas with one end")
        assert log is not None
        self._write(f"{self._at()}  {len(log.where)} messages in the log")
        stage.wait(
            lambda: not stage.missing(log.where), timeout_s=_DRAIN_S, what="the log to be read"
        )
        try:
            stage.wait(
                lambda: stage.tree.offsets(GROUP) == log.ends,
                timeout_s=_DRAIN_S,
                what="all committed",
            )
        except AssertionError as error:
            raise AssertionError(f"{error}; {self._uncommitted(log.ends)}") from None

    def _whole_logs(self) -> Logs | None:
        """Read the logs; None while a replica holds more than is committed, or less.

        A try that was not acknowledged in time may still become part of the log.
        """
        stage = self._stage
        log = read_logs(stage.cluster, stage.partitions())
        ends = [replica_ends(broker, list(log.ends)) for broker in stage.cluster.brokers]
        return log if all(of_broker == log.ends for of_broker in ends) else None

    def _uncommitted(self, ends: Mapping[TopicPartition, int]) -> str:
        stage = self._stage
        committed = stage.tree.offsets(GROUP)
        owners = stage.peek.look(list(TOPICS)).owners
        partitions = ", ".join(
            f"{tp} at {committed.get(tp)} of {end}, owner {owners.get(str(tp))}"
            for tp, end in ends.items()
            if committed.get(tp) != end
        )
        words = "".join(
            f"\n{actor.consumer_id}: {actor.last_words()}"
            for actor in stage.actors.values()
            if isinstance(actor, OurActor)
        )
        return f"{partitions}; {stage.unsettled() or 'the group rests'}{words}"

    def _leave(self) -> None:
        """All end in order: ours first, and the original when it is alone and at rest.

        Asked in the middle of a rebalance it would fail all tries that are left (KAFKA-1848).
        """
        stage = self._stage
        for place in OURS:
            actor = stage.actors.pop(place)
            assert isinstance(actor, OurActor)
            assert actor.stop(_STOP_MS), f"{actor.consumer_id} did not end: {actor.last_words()}"
            assert actor.poll() == 0, f"{actor.consumer_id} died: {actor.last_words()}"
        stage.wait(lambda: not stage.unsettled(), timeout_s=_SETTLE_S, what="the original alone")
        stage.actors.pop(ORIGINAL).stop(_STOP_MS)
        stage.wait(
            lambda: not stage.tree.members(GROUP), timeout_s=_SETTLE_S, what="an empty group"
        )
        self._write(f"{self._at()}  everybody has left")
        for actor in stage.everybody:
            if isinstance(actor, OurActor):
                self._outcome.errors.update(actor.errors)

    def _at(self) -> str:
        return f"{(self._stage.clock.now_ms() - self._began_ms) / 1000:7.1f}"
