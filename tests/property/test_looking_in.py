"""What another thread sees at any moment of a poll, and what a close at that moment commits.

The moments are those at which CPython would run another thread or a signal handler.
"""

from collections import Counter

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B
from tests.support.poll_fakes import FakeParts
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.consumer import kafka_consumer
from zkconsumer.errors import ConsumerClosed
from zkconsumer.records.consumer_record import ConsumerRecord

END = 7
PLACES = st.integers(0, 500)
STEPS = st.lists(st.integers(0, 6), min_size=1, max_size=5)
"""The maximum records of each poll; 0: one record by iteration."""


class InspectedConsumer:
    """A consumer that polls and iterates, with what it delivered."""

    def __init__(self, steps: list[int]) -> None:
        self.fakes = FakeParts(group_id="g", auto_offset_reset="earliest", consumer_timeout_ms=1)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(kafka_consumer, "assemble", lambda _: self.fakes.parts())
            self.consumer = KafkaConsumer("t", group_id="g")
        self.consumer.config = self.fakes.config
        self.fakes.engine.ends = {A: END, B: END}
        self.fakes.group.assign(A, B)
        self.consumer.poll()
        self._polled: dict[TopicPartition, int] = {A: 0, B: 0}
        self._iterated: list[ConsumerRecord] = []
        self._steps = steps

    @property
    def delivered(self) -> dict[TopicPartition, int]:
        """The number of delivered records of each partition."""
        iterated = Counter(record.topic_partition for record in self._iterated)
        return {tp: count + iterated[tp] for tp, count in self._polled.items()}

    def read(self) -> None:
        """Take all steps."""
        for step in self._steps:
            if step:
                for tp, records in self.consumer.poll(max_records=step).items():
                    self._polled[tp] += len(records)
            else:
                for record in self.consumer:
                    # Count the record at once: another thread may read the position right here.
                    self._iterated.append(record)
                    break


@given(steps=STEPS, place=PLACES)
def test_a_visible_position_is_one_between_two_polls(steps: list[int], place: int) -> None:
    """It never includes records that are being delivered."""
    reader = InspectedConsumer(steps)
    session = reader.consumer._parts.session

    def read_positions() -> None:
        for tp, count in reader.delivered.items():
            seen = session.positions.position_seen(tp)
            event("it moves" if seen is None else "seen")
            assert seen is None or seen.offset == count

    interrupt_at_check(place, read_positions, reader.read)
    for tp, count in reader.delivered.items():
        assert session.positions.position_seen(tp) == session.positions.position(tp)
        assert reader.consumer.position(tp) == count


@given(steps=STEPS, place=PLACES, again=st.integers(0, 50))
def test_closes_at_any_two_moments_commit_what_was_delivered(
    steps: list[int], place: int, again: int
) -> None:
    """The second close may come within the first."""
    reader = InspectedConsumer(steps)
    consumer = reader.consumer

    def close() -> None:
        interrupt_at_check(again, consumer.close, consumer.close)

    try:
        interrupt_at_check(place, close, reader.read)
    except ConsumerClosed:
        event("a later call")
    consumer.close()
    committed = {tp: it.offset for tp, it in reader.fakes.group.committed_offsets.items()}
    assert {tp: committed.get(tp, 0) for tp in (A, B)} == reader.delivered
    closes = [call for call in reader.fakes.group.calls if call.startswith("close")]
    assert len(closes) == 1
