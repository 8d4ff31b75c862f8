"""The poll API with random calls and rebalances, against a model of what a caller may see.

The model: every assigned partition has a position; polls and iterations deliver the next records,
each once and in order; nothing is delivered of partitions that are paused, uncertain or not
assigned; commits are those positions.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.poll_callers import A, B
from tests.support.poll_fakes import FakeParts
from tests.support.shares import examples
from zkconsumer.consumer import kafka_consumer
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord

END = 40
C = TopicPartition("u", 0)
ALL = [A, B, C]

partition = st.sampled_from(ALL)
calls = st.one_of(
    st.tuples(st.just("poll"), st.integers(1, 9)),
    st.tuples(st.just("arrow"), st.integers(1, 9)),
    st.tuples(st.just("iterate"), st.integers(1, 7)),
    st.tuples(st.just("seek"), partition, st.integers(0, END)),
    st.tuples(st.just("pause"), partition),
    st.tuples(st.just("resume"), partition),
    st.tuples(st.just("commit")),
    st.tuples(st.just("give"), partition),
    st.tuples(st.just("revoke"), partition),
    st.tuples(st.just("lose"), partition),
    st.tuples(st.just("doubt")),
    st.tuples(st.just("trust")),
)


class PollSessionWorld:
    """A consumer, and a model of what it must do."""

    def __init__(self) -> None:
        self.fakes = FakeParts(
            group_id="g", auto_offset_reset="earliest", consumer_timeout_ms=1, max_poll_records=5
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kafka_consumer, "assemble", lambda _: self.fakes.parts())
            self.consumer = KafkaConsumer("t", "u")
        self.consumer.config = self.fakes.config
        self.fakes.engine.ends = dict.fromkeys(ALL, END)
        self.positions: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.committed: dict[TopicPartition, int] = {}
        self.sure = True

    def run(self, name: str, *arguments: Any) -> None:
        """Make one call, and compare the consumer with the model."""
        call: Callable[..., None] = getattr(self, name)
        call(*arguments)
        for tp, position in self.positions.items():
            assert self.consumer.position(tp) == position, tp
        assert self.consumer.assignment() == set(self.positions)
        committed = self.fakes.group.committed_offsets
        assert {tp: it.offset for tp, it in committed.items()} == self.committed

    def poll(self, count: int) -> None:
        """Poll: it returns records if it may."""
        found = self.consumer.poll(max_records=count)
        total = sum(map(len, found.values()))
        assert total <= count
        assert (total > 0) == self.may_get
        for records in found.values():
            self.check_delivered(records)

    def arrow(self, count: int) -> None:
        """Poll an Arrow batch: it has rows if it may."""
        batch = self.consumer.poll_arrow(max_records=count)
        assert batch.num_rows <= count
        assert (batch.num_rows > 0) == self.may_get
        for row in batch.to_pylist():
            self.check_record(TopicPartition(row["topic"], row["partition"]), row["offset"])

    def iterate(self, count: int) -> None:
        """Iterate, and leave the loop after ``count`` records."""
        taken = 0
        may_get = self.may_get
        for record in self.consumer:
            self.check_delivered([record])
            taken += 1
            if taken == count:
                break
        assert (taken > 0) == may_get
        assert taken == count or not self.may_get

    def check_delivered(self, records: list[ConsumerRecord]) -> None:
        """Check delivered records against the model."""
        for record in records:
            self.check_record(record.topic_partition, record.offset)

    def check_record(self, tp: TopicPartition, offset: int) -> None:
        """Check that the record is the next one of a partition that may be delivered."""
        assert self.sure
        assert tp not in self.paused
        assert offset == self.positions[tp], f"{tp}: not the next one"
        self.positions[tp] = offset + 1

    @property
    def may_get(self) -> bool:
        """Whether there are records that may be delivered."""
        return self.sure and any(
            position < END for tp, position in self.positions.items() if tp not in self.paused
        )

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Seek, if the partition is assigned."""
        if tp in self.positions:
            self.consumer.seek(tp, offset)
            self.positions[tp] = offset

    def pause(self, tp: TopicPartition) -> None:
        """Pause, if the partition is assigned."""
        if tp in self.positions:
            self.consumer.pause(tp)
            self.paused.add(tp)

    def resume(self, tp: TopicPartition) -> None:
        """Resume, if the partition is assigned."""
        if tp in self.positions:
            self.consumer.resume(tp)
            self.paused.discard(tp)

    def commit(self) -> None:
        """Commit all positions."""
        self.consumer.commit()
        self.committed.update(self.positions)

    def give(self, tp: TopicPartition) -> None:
        """Assign a partition; two rounds later its position is known."""
        if tp not in self.positions:
            self.fakes.group.assign(tp)
            self.positions[tp] = self.committed.get(tp, 0)
            self._rounds(2)

    def revoke(self, tp: TopicPartition) -> None:
        """Revoke a partition, whose position is committed."""
        if tp in self.positions:
            self.fakes.group.revoke(tp)
            self.committed[tp] = self.positions.pop(tp)
            self.paused.discard(tp)
            self._rounds(1)

    def lose(self, tp: TopicPartition) -> None:
        """Lose a partition; others may have committed since."""
        if tp in self.positions:
            self.fakes.group.revoke(tp, why=RevocationKind.LOST)
            del self.positions[tp]
            self.paused.discard(tp)
            self._rounds(1)

    def doubt(self) -> None:
        """Make it uncertain which partitions are owned."""
        self.fakes.group.is_certain = self.sure = False

    def trust(self) -> None:
        """Make it certain again."""
        self.fakes.group.is_certain = self.sure = True

    def _rounds(self, count: int) -> None:
        """Poll without delivering anything."""
        sure, self.fakes.group.is_certain = self.fakes.group.is_certain, False
        for _ in range(count):
            assert self.consumer.poll() == {}
        self.fakes.group.is_certain = sure


@settings(max_examples=examples(150), deadline=None)
@given(steps=st.lists(calls, max_size=30))
def test_records_come_once_in_any_order_of_calls_and_rebalances(
    steps: list[tuple[Any, ...]],
) -> None:
    """They come in order, and positions and commits agree with what was delivered."""
    world = PollSessionWorld()
    world.run("give", A)
    world.run("give", B)
    for name, *arguments in steps:
        world.run(name, *arguments)
    world.consumer.close()
    assert {tp: it.offset for tp, it in world.fakes.group.committed_offsets.items()} == {
        **world.committed,
        **world.positions,
    }
