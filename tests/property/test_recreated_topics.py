"""A topic that is deleted and created again at any moment: all of the last one is delivered.

Members are real but for threads and brokers, and ZooKeeper is in memory. A fetcher that does not
know of the deletion so far continues in the new log at its old offset, as a real one may.
"""

import contextlib

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.control_bench import AUTO_COMMIT_MS, Group, consume_all
from tests.support.shares import examples
from zkconsumer.errors import OffsetCommitFailed
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)
STEPS = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 9)),
    st.tuples(st.just("recreate"), st.integers(0, 9)),
    st.tuples(
        st.sampled_from(
            ["read", "commit", "commit_at_once", "settle", "time", "delete", "leave", "join"]
        ),
        st.just(0),
    ),
)


class RecreatedTopicWorld:
    """A group of one or two members on one partition."""

    def __init__(self) -> None:
        self.group = Group(partitions=1)
        self.life = 0
        self.end = 0
        self.delivered: set[tuple[int, int]] = set()
        self._positions: dict[PartitionClaim, int] = {}
        self._names = iter(range(1_000))
        self._there = True
        self.join()
        self.settle()

    def produce(self, count: int) -> None:
        """Append messages."""
        self.end += count

    def recreate(self, count: int) -> None:
        """Create the topic again with messages, without notifying the members."""
        self.delete()
        self.group.set_topic("t", 1)
        self._there = True
        self.life += 1
        self.end = count

    def delete(self) -> None:
        """Delete the topic."""
        if self._there:
            self.group.admin.delete_many(["/brokers/topics/t"])
            self._there = False
            self.end = 0

    def read(self) -> None:
        """Fetch and consume each claim up to the end of the current log."""
        for member in self.group.members:
            claim = member.owned().get(T0)
            if claim is None or not claim.active:
                continue
            start = dict(member.fetching.started)[claim] or 0
            at = self._positions.get(claim, start)
            if at < self.end:
                member.deliver(T0, range(at, self.end))
                self._positions[claim] = self.end
            self.delivered |= {(self.life, offset) for _, offset in consume_all(member.stream())}

    def commit(self) -> None:
        """Let all members request a commit."""
        for member in self.group.members:
            member.commit()

    def commit_at_once(self) -> None:
        """Let all members commit before they handle pending events, as during a listener call."""
        for member in self.group.members:
            with contextlib.suppress(OffsetCommitFailed):
                member.commit_inside()

    def settle(self) -> None:
        """Let all members handle all events."""
        self.group.settle()

    def time(self) -> None:
        """Let automatic commits become due."""
        self.group.pass_time(AUTO_COMMIT_MS)

    def leave(self) -> None:
        """Let the first member leave."""
        if self.group.members:
            self.group.members[0].close()
            self.settle()
            self.group.members.pop(0)

    def join(self) -> None:
        """Let another member join."""
        if len(self.group.members) < 2:
            self.group.member(f"m{next(self._names)}").join({"t": 1})

    def finish(self) -> None:
        """Let a member read everything in the end."""
        if not self._there:
            self.recreate(5)
        self.join()
        for _ in range(3):
            self.settle()
            self.read()
        self.group.pass_time(10_000)
        self.read()


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(STEPS, max_size=25))
@example([("produce", 3), ("read", 0), ("recreate", 5), ("commit_at_once", 0)])
@example([("produce", 3), ("read", 0), ("recreate", 5), ("settle", 0)])
def test_all_of_the_last_topic_is_delivered(steps: list[tuple[str, int]]) -> None:
    """It is whatever of the former topics was read or committed."""
    world = RecreatedTopicWorld()
    for name, count in steps:
        step = getattr(world, name)
        step(count) if name in {"produce", "recreate"} else step()
    world.finish()
    wanted = {(world.life, offset) for offset in range(world.end)}
    assert wanted <= world.delivered
