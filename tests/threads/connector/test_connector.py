"""The public connector with a real control thread, on an in-memory ZooKeeper."""

import itertools
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import assert_type

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.interrupting import interrupt_at_line
from tests.support.memory_connector import MemoryConnector
from tests.support.waiting import wait_until
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.clock import SystemClock
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.errors import ConfigError, ConsumerClosed, MessageStreamsExist, RebalanceFailed
from zkconsumer.membership.zookeeper.core.states import RebalanceState
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.decoder import StringDecoder
from zkconsumer.streams.stream import KafkaStream

T0 = TopicPartition("t", 0)


@pytest.fixture
def group() -> Group:
    """A group whose members live in real time."""
    return Group(time=SystemClock())


@pytest.fixture
def connector(group: Group) -> Iterator[MemoryConnector]:
    """A connector that has not joined."""
    with MemoryConnector(ControlledMember(group, "a", backoff_ms=20)) as made:
        yield made


def own_as_stranger(group: Group, partition: int) -> str:
    """Let another consumer own a partition of topic t; return the owner node."""
    path = f"/consumers/g/owners/t/{partition}"
    group.admin.create(path, b"g_x-0", ephemeral=True)
    return path


# --- creating streams ----------------------------------------------------------------------------


def test_streams_are_returned_once_their_partitions_are_owned(
    group: Group, connector: MemoryConnector
) -> None:
    """Each topic has as many as requested, an unknown topic included."""
    streams = connector.create_message_streams({"t": 2, "none": 1})
    assert {topic: len(found) for topic, found in streams.items()} == {"t": 2, "none": 1}
    assert group.owners() == {0: "g_a-0", 1: "g_a-1"}


def test_creating_streams_twice_is_refused(connector: MemoryConnector) -> None:
    """It is by topics and by a filter; the first streams go on."""
    connector.create_message_streams({"t": 1})
    with pytest.raises(MessageStreamsExist, match="g_a"):
        connector.create_message_streams({"t": 1})
    with pytest.raises(MessageStreamsExist):
        connector.create_message_streams_by_filter(Whitelist("t"))
    assert set(connector.member.owned()) == {T0, TopicPartition("t", 1)}


def test_of_two_threads_that_create_streams_one_is_refused() -> None:
    """It is at whatever line of the first call the second one comes in."""

    def run_at(line: int) -> bool:
        connector = MemoryConnector(ControlledMember(Group(time=SystemClock()), "a"))
        calls = connector._calls
        outcomes: list[str] = []

        def claim() -> None:
            try:
                calls.claim_creation()
                outcomes.append("created")
            except MessageStreamsExist:
                outcomes.append("refused")

        scope = ThreadScope("other")

        def claim_in_thread() -> None:
            scope.spawn("claim", claim, stop=lambda: None)
            # While this thread holds a lock the other one waits until it goes on.
            scope.close(50)

        interrupted = interrupt_at_line(line, claim_in_thread, claim)
        scope.close(10_000)
        connector.shutdown()
        assert sorted(outcomes) == (["created", "refused"] if interrupted else ["created"])
        return interrupted

    assert every_line(run_at) > 5


@pytest.mark.parametrize(
    "topics", [{"t": 0}, {"t": -1}, {"": 1}, {".": 1}, {"a/b": 1}, {"t" * 256: 1}, {"é": 1}]
)
def test_bad_subscriptions_are_refused_before_anything_is_written(
    group: Group, connector: MemoryConnector, topics: Mapping[str, int]
) -> None:
    """The error names the topic; a valid subscription may follow."""
    with pytest.raises(ConfigError, match="topic"):
        connector.create_message_streams(topics)
    assert group.ids() == []
    connector.create_message_streams({"t": 1})


def test_a_filter_with_no_stream_is_refused(connector: MemoryConnector) -> None:
    """The error names the filter."""
    with pytest.raises(ConfigError, match="filter"):
        connector.create_message_streams_by_filter(Whitelist("t.*"), num_streams=0)


def test_a_filter_that_is_a_plain_string_is_refused(connector: MemoryConnector) -> None:
    """The error names what to pass instead; a valid filter may follow."""
    with pytest.raises(ConfigError, match="give a Whitelist"):
        connector.create_message_streams_by_filter("t.*")  # type: ignore[call-overload]
    connector.create_message_streams_by_filter(Whitelist("t.*"))


def test_a_dictionary_of_settings_is_refused() -> None:
    """A plain dictionary would lack every default."""
    with pytest.raises(ConfigError, match="dict is not a configuration: give a ConsumerConfig"):
        ZookeeperConsumerConnector({"group.id": "g"})  # type: ignore[arg-type]


def test_streams_by_filter_may_decode_keys_only(connector: MemoryConnector) -> None:
    """Their static type says so."""
    streams = connector.create_message_streams_by_filter(
        Whitelist("t.*"), key_decoder=StringDecoder()
    )
    assert_type(streams, list[KafkaStream[str, bytes]])
    assert len(streams) == 1


def test_streams_decode_with_the_given_decoders(connector: MemoryConnector) -> None:
    """Keys and values have one each, as the original's test asserts."""
    streams = connector.create_message_streams(
        {"t": 1}, key_decoder=StringDecoder(), value_decoder=len
    )
    # ControlledMember has queues of its own; these streams read the connector's.
    claim = connector.member.owned()[T0]
    connector.member.deliver(T0, [3])
    message = next(streams["t"][0])
    assert (message.offset, message.key, message.value) == (3, "k3", len("value 3" * 3))
    assert claim.delivered_offset == 4


def test_a_join_that_failed_can_be_retried(group: Group) -> None:
    """The member has left the group by then, so that the next call may succeed."""
    group.admin.ensure_paths(["/consumers/g/owners/t"])
    path = own_as_stranger(group, 1)
    member = ControlledMember(group, "a", backoff_ms=5, max_retries=2)
    with MemoryConnector(member) as connector:
        with pytest.raises(RebalanceFailed, match="t-1 by g_x-0"):
            connector.create_message_streams({"t": 1})
        wait_until(lambda: group.ids() == [], what="its registration to go")
        group.admin.delete_many([path])
        connector.create_message_streams({"t": 1})
        assert group.owners() == {0: "g_a-0", 1: "g_a-0"}


# --- shutdown ------------------------------------------------------------------------------------


def test_after_the_shutdown_nothing_is_left_and_nothing_works(
    group: Group, connector: MemoryConnector
) -> None:
    """Streams have ended, and calls raise ConsumerClosed instead of hanging."""
    stream = connector.create_message_streams({"t": 1})["t"][0]
    connector.shutdown()
    assert (group.ids(), group.owners()) == ([], {})
    assert list(stream) == []
    with pytest.raises(ConsumerClosed):
        connector.commit_offsets()
    with pytest.raises(ConsumerClosed):
        connector.create_message_streams({"t": 1})


def test_shutdown_is_idempotent_in_any_thread(connector: MemoryConnector) -> None:
    """Several threads may call it at once, and again later."""
    connector.create_message_streams({"t": 1})
    scope = ThreadScope("closers")
    for number in range(4):
        scope.spawn(f"closer-{number}", connector.shutdown, stop=lambda: None)
    assert scope.close(10_000) == []
    assert scope.first_error() is None
    connector.shutdown()
    assert connector.closed


def test_shutdown_ends_streams_that_wait_in_other_threads(connector: MemoryConnector) -> None:
    """It does even if the stream has no time-out."""
    stream = connector.create_message_streams({"t": 1})["t"][0]
    scope = ThreadScope("readers")
    delivered: list[int] = []
    scope.spawn("reader", lambda: delivered.append(len(list(stream))), stop=lambda: None)
    connector.shutdown()
    assert scope.close(5_000) == []
    assert delivered == [0]


def test_a_shutdown_while_joining_ends_the_wait(group: Group) -> None:
    """The joining caller gets ConsumerClosed at once, although its next attempt is in an hour."""
    connector = MemoryConnector(ControlledMember(group, "a", backoff_ms=3_600_000))
    group.admin.ensure_paths(["/consumers/g/owners/t"])
    own_as_stranger(group, 0)
    scope = ThreadScope("joiner")
    received: list[BaseException] = []

    def join() -> None:
        with pytest.raises(ConsumerClosed) as raised:
            connector.create_message_streams({"t": 1})
        received.append(raised.value)

    scope.spawn("joiner", join, stop=lambda: None)
    wait_until(
        lambda: connector.member.core.state is RebalanceState.BACKING_OFF,
        what="a refusal",
    )
    connector.shutdown()
    assert scope.close(5_000) == []
    assert len(received) == 1


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need it"
)
def test_a_signal_handler_may_shut_down_while_the_main_thread_waits_for_it(
    connector: MemoryConnector,
) -> None:
    """The handler runs in the thread that iterates: the stream ends, and nothing blocks."""
    stream = connector.create_message_streams({"t": 1})["t"][0]
    before = signal.signal(signal.SIGUSR1, lambda *_: connector.shutdown())
    scope = ThreadScope("killer")
    try:
        main = threading.main_thread().ident
        assert main is not None
        scope.spawn("killer", lambda: signal.pthread_kill(main, signal.SIGUSR1), stop=lambda: None)
        assert list(stream) == []
    finally:
        assert scope.close(5_000) == []
        signal.signal(signal.SIGUSR1, before)
    assert connector.closed


def every_line(run_at: Callable[[int], bool], *, step: int = 1) -> int:
    """Interrupt at each line in turn until there are no more; return how many there were."""
    line = 0
    while run_at(line):
        line += step
    return line


def test_a_signal_handler_may_shut_down_inside_a_shutdown() -> None:
    """At whatever line of the first one: both return, and no node of the member is left."""

    def run_at(line: int) -> bool:
        group = Group(time=SystemClock())
        connector = MemoryConnector(ControlledMember(group, "a"))
        connector.create_message_streams({"t": 1})
        interrupted = interrupt_at_line(line, connector.shutdown, connector.shutdown)
        assert connector.closed
        assert (group.ids(), group.owners()) == ([], {})
        return interrupted

    assert every_line(run_at) > 30


def test_a_signal_handler_may_shut_down_inside_a_commit() -> None:
    """At whatever line: the commit is written, or raises ConsumerClosed."""

    def run_at(line: int) -> bool:
        group = Group(time=SystemClock())
        connector = MemoryConnector(ControlledMember(group, "a"))
        connector.create_message_streams({"t": 1})
        connector.member.deliver(T0, [0])
        outcomes: list[object] = []

        def commit() -> None:
            try:
                outcomes.append(connector.commit_offsets())
            except ConsumerClosed as closed:
                outcomes.append(closed)

        interrupted = interrupt_at_line(line, connector.shutdown, commit)
        connector.shutdown()
        assert len(outcomes) == 1
        return interrupted

    assert every_line(run_at) > 5


def test_a_signal_handler_may_shut_down_inside_a_stream() -> None:
    """At whatever line of the iteration: the stream ends, and no message comes twice."""

    def run_at(line: int) -> bool:
        group = Group(time=SystemClock())
        connector = MemoryConnector(ControlledMember(group, "a"))
        stream = connector.create_message_streams({"t": 1})["t"][0]
        connector.member.deliver(T0, [0, 1, 2])
        delivered: list[int] = []
        interrupted = interrupt_at_line(
            line,
            connector.shutdown,
            lambda: delivered.extend(message.offset for message in itertools.islice(stream, 1)),
        )
        connector.shutdown()
        delivered += [message.offset for message in stream]
        assert delivered == sorted(set(delivered))
        return interrupted

    assert every_line(run_at) > 10


# --- bugs ----------------------------------------------------------------------------------------


class BrokenStore(ZookeeperOffsetStore):
    """An offset store with a bug."""

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """Fail with an error that is none of ours."""
        raise ZeroDivisionError(f"{offsets} {retry} {rewind}")


def test_a_control_thread_that_dies_leaves_nobody_waiting(group: Group) -> None:
    """The current commit fails, streams raise and end, and later calls are refused."""
    member = ControlledMember(group, "a")
    connector = MemoryConnector(member)
    stream = connector.create_message_streams({"t": 1})["t"][0]
    member.deliver(T0, [0, 1])
    assert next(stream).offset == 0
    member.control._commits._committer._store = BrokenStore(member.store, "g")
    with pytest.raises(ZeroDivisionError):
        connector.commit_offsets()
    wait_until(lambda: member.control.done, what="the end of the thread")
    with pytest.raises(ConsumerClosed, match="control thread died"):
        next(stream)
    assert list(stream) == []
    with pytest.raises(ConsumerClosed):
        connector.commit_offsets()
    connector.shutdown()
    assert (group.ids(), group.owners()) == ([], {})
    assert isinstance(connector._parts.control_scope.first_error(), ZeroDivisionError)
