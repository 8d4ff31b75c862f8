"""What the public connector passes on to the member behind it."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.interrupting import interrupt_at_check
from tests.support.memory_connector import MemoryConnector
from tests.support.recording_listener import RecordingListener
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerClosed, RebalanceFailed
from zkconsumer.membership.zookeeper.threads.messages import CommitRequest, Message
from zkconsumer.membership.zookeeper.threads.reply import Reply
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.streams.delivery import Delivery

T0 = TopicPartition("t", 0)


@pytest.mark.parametrize(("reported", "retry"), [({}, True), ({"retry_on_failure": False}, False)])
def test_commits_are_retried_unless_the_caller_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, reported: dict[str, bool], retry: bool
) -> None:
    """So are those of coroutines; given offsets and the count of written ones are passed on."""
    sent: list[CommitRequest] = []

    def send(message: Message) -> None:
        assert isinstance(message, CommitRequest)
        sent.append(message)
        message.reply.set_result(3)

    named = {T0: OffsetAndMetadata(5)}
    with MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector:
        monkeypatch.setattr(connector._calls, "_send", send)
        assert connector.commit_offsets(named, **reported) == 3
        assert asyncio.run(connector.commit_offsets_async(named, **reported)) == 3
        assert asyncio.run(connector.commit_offsets_async(None, **reported)) == 3
    assert [commit_request.retry for commit_request in sent] == [retry] * 3
    assert [commit_request.offsets for commit_request in sent] == [named, named, None]


def test_a_listener_commits_while_the_rebalance_waits() -> None:
    """It does in the control thread itself, which could not handle a message meanwhile."""
    group, reported = Group(time=SystemClock()), list[int]()
    with MemoryConnector(ControlledMember(group, "a")) as connector:
        listener = RecordingListener(
            lambda _share: reported.append(connector.commit_offsets({T0: OffsetAndMetadata(7)}))
        )
        connector.set_consumer_rebalance_listener(listener)
        connector.create_message_streams({"t": 1})
        with MemoryConnector(ControlledMember(group, "0")) as other:
            other.create_message_streams({"t": 1})
            assert (reported, group.offset(0)) == ([1], "7")


def test_a_commit_ends_wherever_another_thread_shuts_the_connector_down() -> None:
    """It is written or refused, and never waits for a thread that has ended."""
    with ThreadPoolExecutor(1) as pool:
        for number in count():
            with MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector:
                connector.create_message_streams({"t": 1})

                def shut_down(connector: MemoryConnector = connector) -> None:
                    pool.submit(connector.shutdown).result(30)

                with contextlib.suppress(ConsumerClosed):
                    interrupt_at_check(number, shut_down, connector.commit_offsets)
                if not connector.closed:
                    break
    assert number


def test_a_join_waits_for_all_its_attempts_and_says_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may take its backoff and two session time-outs, besides the time to connect."""
    member = ControlledMember(Group(time=SystemClock()), "a")
    limits: list[int | None] = []

    def wait(_reply: Reply[object], timeout_ms: int | None) -> tuple[None, bool]:
        limits.append(timeout_ms)
        return None, False

    connector = MemoryConnector(
        member,
        rebalance_max_retries=3,
        rebalance_backoff_ms=500,
        zookeeper_connection_timeout_ms=7_000,
    )
    limit_ms = 3 * (500 + 2 * member.store.negotiated_timeout_ms) + 7_000
    with monkeypatch.context() as patched, connector:
        patched.setattr(Reply, "wait", wait)
        with pytest.raises(RebalanceFailed, match=rf"g: not joined within {limit_ms} ms.*memory"):
            connector.create_message_streams({"t": 1})
        patched.undo()
    assert limits == [limit_ms]


def test_at_most_once_commits_before_delivery() -> None:
    """The control thread commits on behalf of the stream's thread."""
    group = Group(time=SystemClock())
    member = ControlledMember(group, "a", delivery=Delivery.AT_MOST_ONCE)
    with MemoryConnector(member, delivery="at_most_once") as connector:
        stream = connector.create_message_streams({"t": 1})["t"][0]
        member.deliver(T0, [0, 1, 2])
        assert next(stream).offset == 0
        assert group.offset(0) == "3"


def test_the_repr_of_a_connector_and_its_streams() -> None:
    """It names group, member, topics and state, in one line whatever their names."""
    with MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector:
        start = f"<MemoryConnector group_id='g', consumer_id={connector.consumer_id!r}"
        assert repr(connector) == f"{start}, no streams>"
        [stream] = connector.create_message_streams({"t": 1})["t"]
        assert repr(connector) == f"{start}, topics [t]>"
        thread = f"{connector.consumer_id}-0"
        assert repr(stream) == (
            f"<KafkaStream {thread} group_id='g', topic='t', 0 messages handed over>"
        )
    assert repr(connector) == f"{start}, closed>"


def test_the_repr_of_a_connector_with_a_filter() -> None:
    """It names the filter, and its streams have no topic of their own."""
    with MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector:
        [stream] = connector.create_message_streams_by_filter(Whitelist("t"))
        assert repr(connector).endswith(", Whitelist('t')>")
        assert "topic=a filter" in repr(stream)
