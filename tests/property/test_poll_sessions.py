"""The poll API in random order of calls and rebalances, against a model of what a caller may see.

The model: every partition of ours has a position; polls and iterations hand out what comes next,
each record once and in order; nothing is handed out of what is paused, unsure or not ours; commits
are those positions.
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
    """A consumer, and what it must do."""

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
        """One call, and then everything must be as the model says."""
        call: Callable[..., None] = getattr(self, name)
        call(*arguments)
        for tp, position in self.positions.items():
            assert self.consumer.position(tp) == position, tp
        assert self.consumer.assignment() == set(self.positions)
        committed = self.fakes.group.committed_offsets
        assert {tp: it.offset for tp, it in committed.items()} == self.committed

    def poll(self, count: int) -> None:
        """A poll gives as much as it may."""
        found = self.consumer.poll(max_records=count)
        total = sum(map(len, found.values()))
        assert total <= count
        assert (total > 0) == self.may_get
        for records in found.values():
            self.saw(records)

    def arrow(self, count: int) -> None:
        """A batch, too."""
        batch = self.consumer.poll_arrow(max_records=count)
        assert batch.num_rows <= count
        assert (batch.num_rows > 0) == self.may_get
        for row in batch.to_pylist():
            self.saw_one(TopicPartition(row["topic"], row["partition"]), row["offset"])

    def iterate(self, count: int) -> None:
        """A loop that is left after so many; the last one may be looked at again and again."""
        taken = 0
        may_get = self.may_get
        for record in self.consumer:
            self.saw([record])
            taken += 1
            if taken == count:
                break
        assert (taken > 0) == may_get
        assert taken == count or not self.may_get

    def saw(self, records: list[ConsumerRecord]) -> None:
        """These were handed out."""
        for record in records:
            self.saw_one(record.topic_partition, record.offset)

    def saw_one(self, tp: TopicPartition, offset: int) -> None:
        """It must be the next one of a partition that may be handed out."""
        assert self.sure
        assert tp not in self.paused
        assert offset == self.positions[tp], f"{tp}: not the next one"
        self.positions[tp] = offset + 1

    @property
    def may_get(self) -> bool:
        """Whether there is anything that may be handed out."""
        return self.sure and any(
            position < END for tp, position in self.positions.items() if tp not in self.paused
        )

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Of what is ours."""
        if tp in self.positions:
            self.consumer.seek(tp, offset)
            self.positions[tp] = offset

    def pause(self, tp: TopicPartition) -> None:
        """Of what is ours."""
        if tp in self.positions:
            self.consumer.pause(tp)
            self.paused.add(tp)

    def resume(self, tp: TopicPartition) -> None:
        """Of what is ours."""
        if tp in self.positions:
            self.consumer.resume(tp)
            self.paused.discard(tp)

    def commit(self) -> None:
        """All positions."""
        self.consumer.commit()
        self.committed.update(self.positions)

    def give(self, tp: TopicPartition) -> None:
        """A partition comes; two rounds later its position is known."""
        if tp not in self.positions:
            self.fakes.group.give(tp)
            self.positions[tp] = self.committed.get(tp, 0)
            self._rounds(2)

    def revoke(self, tp: TopicPartition) -> None:
        """A partition goes, committed."""
        if tp in self.positions:
            self.fakes.group.take(tp)
            self.committed[tp] = self.positions.pop(tp)
            self.paused.discard(tp)
            self._rounds(1)

    def lose(self, tp: TopicPartition) -> None:
        """A partition went, and others may have committed since."""
        if tp in self.positions:
            self.fakes.group.take(tp, why=RevocationKind.LOST)
            del self.positions[tp]
            self.paused.discard(tp)
            self._rounds(1)

    def doubt(self) -> None:
        """Nobody knows what is ours."""
        self.fakes.group.surely = self.sure = False

    def trust(self) -> None:
        """It is known again."""
        self.fakes.group.surely = self.sure = True

    def _rounds(self, count: int) -> None:
        """Polls that hand out nothing."""
        sure, self.fakes.group.surely = self.fakes.group.surely, False
        for _ in range(count):
            assert self.consumer.poll() == {}
        self.fakes.group.surely = sure


@settings(max_examples=examples(150), deadline=None)
@given(steps=st.lists(calls, max_size=30))
def test_in_any_order_of_calls_and_rebalances(steps: list[tuple[Any, ...]]) -> None:
    """Each record once and in order, and positions behind what was handed out."""
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
