"""Subscribing and polling with fake components: what is returned, and what is raised."""

from collections.abc import Callable

import pytest

from tests.support.model_engine import EPOCH, value_of
from tests.support.poll_callers import A, B, ConsumerFactory, Listener, joined_consumer, offsets_of
from zkconsumer import (
    OffsetAndMetadata,
)
from zkconsumer.errors import (
    AuthenticationFailed,
    ConfigError,
    GroupFailed,
    IllegalState,
    NoOffsetForPartition,
    PartitionFailed,
    Woken,
)

# --- subscribing and polling ---------------------------------------------------------------------


def test_a_poll_joins_and_starts_at_the_committed_offset(make_consumer: ConsumerFactory) -> None:
    """Without a committed offset it starts where ``auto_offset_reset`` says."""
    consumer, fakes = make_consumer("t")
    fakes.engine.ends = {A: 10, B: 3}
    fakes.group.committed_offsets[A] = OffsetAndMetadata(8)
    assert fakes.group.calls == ["subscribe t"]
    assert consumer.subscription() == {"t"}
    assert consumer.assignment() == set()
    assert fakes.metadata.watched == frozenset({"t"})
    fakes.group.assign(A, B)
    assert consumer.poll() == {}
    assert consumer.assignment() == {A, B}
    found = consumer.poll(timeout_ms=100)
    assert offsets_of(found) == {A: [8, 9], B: [0, 1, 2]}
    assert found[A][0].value == value_of(A, 8)
    assert consumer.position(A) == 10
    assert consumer.poll() == {}


def test_a_poll_returns_a_limited_number_of_records(make_consumer: ConsumerFactory) -> None:
    """``max_records``, or ``max_poll_records``, is the limit; the rest comes next."""
    consumer, _ = joined_consumer(make_consumer, max_poll_records=4)
    assert offsets_of(consumer.poll()) == {A: [0, 1, 2, 3]}
    assert offsets_of(consumer.poll(max_records=7)) == {A: [4, 5, 6, 7, 8, 9], B: [0]}
    assert offsets_of(consumer.poll()) == {B: [1, 2, 3, 4]}


def test_a_poll_waits_until_its_time_out(make_consumer: ConsumerFactory) -> None:
    """It returns as soon as there are records."""
    consumer, fakes = joined_consumer(make_consumer)
    consumer.poll()
    began_ms = fakes.clock.now_ms()
    assert consumer.poll(timeout_ms=7_000) == {}
    assert fakes.clock.now_ms() - began_ms == 7_001
    fakes.wakeup.meanwhile = [lambda: None, lambda: fakes.engine.ends.update({A: 11})]
    assert offsets_of(consumer.poll(timeout_ms=7_000)) == {A: [10]}


def test_positions_stay_without_update_offsets(make_consumer: ConsumerFactory) -> None:
    """With ``update_offsets=False`` the next poll returns the same records."""
    consumer, _ = joined_consumer(make_consumer)
    first = consumer.poll(max_records=3, update_offsets=False)
    assert consumer.position(A) == 0
    assert consumer.poll(max_records=3) == first
    assert consumer.position(A) == 3


def test_wrong_arguments_are_refused(make_consumer: ConsumerFactory) -> None:
    """They are refused before any request is sent."""
    consumer, _ = joined_consumer(make_consumer)
    for call in (
        lambda: consumer.poll(timeout_ms=-1),
        lambda: consumer.poll(max_records=0),
        lambda: consumer.subscribe("t"),
        lambda: consumer.subscribe(["t"], listener=object()),  # type: ignore[arg-type]
        lambda: consumer.commit({A: -1}),  # type: ignore[dict-item]
        lambda: consumer.commit_async(callback=3),  # type: ignore[arg-type]
        lambda: consumer.seek(A, -5),
        lambda: consumer.offsets_for_times([A]),  # type: ignore[arg-type]
    ):
        with pytest.raises(ConfigError):
            call()
    assert offsets_of(consumer.poll(max_records=1)) == {A: [0]}


def test_a_consumer_without_a_subscription_returns_nothing(
    make_consumer: ConsumerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits for the time-out, and one warning says what to call."""
    consumer, fakes = make_consumer(consumer_timeout_ms=50)
    assert consumer.poll() == {}
    began_ms = fakes.clock.now_ms()
    assert consumer.poll(timeout_ms=70) == {}
    assert fakes.clock.now_ms() - began_ms >= 70
    assert list(consumer) == []
    assert fakes.clock.now_ms() - began_ms >= 120
    assert consumer.subscription() is None
    assert [
        log_record.getMessage()
        for log_record in caplog.records
        if log_record.levelname == "WARNING"
    ] == ["there is nothing to read: call subscribe() or assign() first"]
    fakes.engine.ends = {A: 2}
    consumer.assign([A])
    assert [record.offset for record in consumer] == [0, 1]


@pytest.mark.parametrize("timeout_ms", [1, 7, 7.2, 250])
def test_no_time_out_is_early(make_consumer: ConsumerFactory, timeout_ms: float) -> None:
    """A time-out is never shortened, whatever fraction of a millisecond had passed before."""
    consumer, fakes = make_consumer("t")
    began_ms = fakes.clock.now_ms()
    consumer.poll(timeout_ms=timeout_ms)
    assert timeout_ms + 1 <= fakes.clock.now_ms() - began_ms < timeout_ms + 2


def test_a_pattern_needs_an_unsubscribe_first(make_consumer: ConsumerFactory) -> None:
    """And topics after a pattern; later views do not change named topics."""
    consumer, fakes = make_consumer("a")
    with pytest.raises(IllegalState, match=r"unsubscribe\(\)"):
        consumer.subscribe(pattern="^web")
    consumer.unsubscribe()
    consumer.subscribe(pattern="^web")
    fakes.metadata.learn({"web1": 2, "other": 1})
    fakes.session.saw_view()
    consumer.poll()
    assert consumer.subscription() == {"web1"}
    consumer.unsubscribe()
    consumer.subscribe(["b"])
    fakes.metadata.learn({"web1": 2, "web2": 1})
    fakes.session.saw_view()
    consumer.poll()
    assert consumer.subscription() == {"b"}
    subscriptions = [call for call in fakes.group.calls if call.startswith("subscribe")]
    assert subscriptions == ["subscribe a", "subscribe web1 ...", "subscribe b"]


def test_a_pattern_adds_topics_as_they_appear(make_consumer: ConsumerFactory) -> None:
    """It may match no topic at first."""
    consumer, fakes = make_consumer()
    consumer.subscribe(pattern="^web")
    assert fakes.metadata.watched is None
    consumer.poll()
    assert fakes.group.calls == []
    fakes.metadata.learn({"x": 1})
    fakes.session.saw_view()
    consumer.poll()
    fakes.metadata.learn({"x": 1, "web1": 2})
    fakes.session.saw_view()
    consumer.poll()
    consumer.poll()
    assert fakes.group.calls == ["subscribe  ...", "subscribe web1 ..."]
    assert consumer.subscription() == {"web1"}


def test_topics_of_a_pattern_are_read_at_once(make_consumer: ConsumerFactory) -> None:
    """They are read in the poll that sees them, not after the next heartbeat."""
    consumer, fakes = make_consumer(group_id=None)
    fakes.engine.ends = {A: 1}
    consumer.subscribe(pattern="^t")
    fakes.metadata.learn({"t": 1})
    assert offsets_of(consumer.poll()) == {A: [0]}


def test_topics_of_a_group_that_we_lead_are_watched_too(make_consumer: ConsumerFactory) -> None:
    """The leader must react to changes of all the group's topics."""
    consumer, fakes = make_consumer("t")
    fakes.session.watch_for_group(frozenset({"t", "u"}))
    assert fakes.metadata.watched == frozenset({"t", "u"})
    consumer.subscribe(["v"])
    assert fakes.metadata.watched == frozenset({"t", "u", "v"})


def test_assigned_partitions_need_no_group(make_consumer: ConsumerFactory) -> None:
    """They continue at the group's committed offsets, if it has a group."""
    consumer, fakes = make_consumer()
    fakes.engine.ends = {A: 10, B: 10}
    fakes.group.committed_offsets[A] = OffsetAndMetadata(9)
    consumer.assign([A])
    assert fakes.metadata.watched == frozenset({"t"})
    assert consumer.poll() == {}
    assert offsets_of(consumer.poll()) == {A: [9]}
    consumer.assign([A, B])
    consumer.poll()
    assert consumer.position(A) == 10
    assert offsets_of(consumer.poll(max_records=2)) == {B: [0, 1]}
    assert consumer.subscription() is None
    consumer.assign([B])
    assert fakes.group.committed_offsets[A] == OffsetAndMetadata(10, "", EPOCH)
    assert consumer.assignment() == {B}
    consumer.assign([])
    assert consumer.assignment() == set()
    assert fakes.metadata.watched == frozenset()
    consumer.subscribe(["t"])


def test_without_a_group_all_partitions_are_ours(make_consumer: ConsumerFactory) -> None:
    """As in kafka-python, and commits are refused."""
    consumer, fakes = make_consumer("t", group_id=None)
    fakes.engine.ends = {A: 1, B: 1}
    listener = Listener(consumer)
    consumer.subscribe(["t"], listener=listener)
    assert consumer.poll() == {}
    fakes.metadata.learn({"t": 2, "u": 1})
    assert offsets_of(consumer.poll()) == {A: [0], B: [0]}
    calls: list[Callable[[], object]] = [
        consumer.commit,
        consumer.commit_async,
        lambda: consumer.committed(A),
    ]
    for call in calls:
        with pytest.raises(IllegalState, match="group_id"):
            call()
    fakes.metadata.learn({})
    consumer.poll()
    assert consumer.assignment() == {A, B}  # a single view without them may be momentary
    consumer.subscribe(["u"], listener=listener)
    fakes.metadata.learn({"t": 2, "u": 1})
    consumer.poll()
    assert consumer.assignment() == {("u", 0)}
    consumer.close()
    assert [what for what, _ in listener.received] == ["assigned", "revoked", "assigned", "revoked"]


# --- what comes out of a poll besides records ----------------------------------------------------


def test_a_partition_that_fails_is_raised_and_the_others_go_on(
    make_consumer: ConsumerFactory,
) -> None:
    """A failed partition is raised once, and other partitions continue."""
    consumer, fakes = joined_consumer(make_consumer)
    fakes.engine.errors = [PartitionFailed(A, 5, "corrupt")]
    consumer.poll()
    with pytest.raises(PartitionFailed):
        consumer.poll()
    assert consumer.poll() == {}


def test_an_authentication_failure_is_raised_by_each_poll(make_consumer: ConsumerFactory) -> None:
    """A retry would not help."""
    consumer, fakes = make_consumer("t")
    fakes.metadata.failure = AuthenticationFailed("wrong password")
    for _ in range(2):
        with pytest.raises(AuthenticationFailed):
            consumer.poll(timeout_ms=10_000)


def test_an_error_of_the_group_is_raised_by_poll(make_consumer: ConsumerFactory) -> None:
    """The membership decides whether it is raised once or each time."""
    consumer, fakes = make_consumer("t")

    def refuse() -> None:
        raise GroupFailed("g", "no")

    fakes.group.due = [refuse]
    with pytest.raises(GroupFailed):
        consumer.poll()
    assert consumer.poll() == {}


def test_without_a_reset_policy_each_poll_raises_until_a_seek(
    make_consumer: ConsumerFactory,
) -> None:
    """With ``auto_offset_reset="none"`` a missing offset is an error."""
    consumer, fakes = make_consumer("t", auto_offset_reset="none")
    fakes.engine.ends = {A: 2}
    fakes.group.assign(A)
    consumer.poll()
    for _ in range(2):
        with pytest.raises(NoOffsetForPartition, match="t-0"):
            consumer.poll()
    with pytest.raises(NoOffsetForPartition):
        consumer.position(A)
    consumer.seek(A, 1)
    assert offsets_of(consumer.poll()) == {A: [1]}


def test_wakeup_ends_a_poll_and_loses_nothing(make_consumer: ConsumerFactory) -> None:
    """A wakeup ends one poll, the next one is not affected, and no record is lost."""
    consumer, fakes = joined_consumer(make_consumer)
    consumer.wakeup()
    with pytest.raises(Woken):
        consumer.poll()
    assert len(consumer.poll()) == 2
    fakes.wakeup.meanwhile = [consumer.wakeup]
    with pytest.raises(Woken):
        consumer.poll(timeout_ms=9_000)


def test_records_are_withheld_while_ownership_is_uncertain(make_consumer: ConsumerFactory) -> None:
    """They are returned once ownership is certain again."""
    consumer, fakes = joined_consumer(make_consumer)
    fakes.group.is_certain = False
    assert consumer.poll(timeout_ms=100) == {}
    fakes.group.is_certain = True
    assert len(consumer.poll()) == 2
