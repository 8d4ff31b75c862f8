"""ZooKeeper restarts, freezes, or is unreachable until the session is over.

The members commit manually and at known offsets, so what must come twice is known exactly: nothing
while claims last, and what was delivered after the last commit otherwise.
"""

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, all_delivered, await_ends, duplicates
from tests.support.tcp_gate import TcpGate
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.clock import SystemClock
from zkconsumer.connector import assembly
from zkconsumer.observe import DeliveryPaused, DeliveryResumed
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

PATIENT_MS = 20_000
PATIENT = {"zookeeper.session.timeout.ms": str(PATIENT_MS)}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """Start a broker that never loses its own session in these tests."""
    with Sandbox(brokers=1, broker_properties=PATIENT) as sandbox:
        yield sandbox


def test_after_a_short_restart_the_session_and_all_positions_are_the_same(
    cluster: Sandbox,
) -> None:
    """Delivery continues for the allowed silence; afterwards nothing is claimed or read again."""
    topic, group = fresh_name("short"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    settings: dict[str, object] = {"auto_commit_enable": False, "zookeeper_silence_percent": 100}
    with (
        Member(cluster, group, {topic: 2}, **settings) as member,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        session, claims = member.session_id, member.claims()
        cluster.kill_zookeeper()
        wait_until(lambda: not member.store.connected, what="the member to notice")
        before = traffic.ends()
        wait_until(lambda: traffic.ends() != before, what="new messages")
        await_ends([member], traffic.ends, "without ZooKeeper")
        cluster.start_zookeeper()
        wait_until(lambda: member.store.connected, what="the connection")
        assert member.connector.commit_offsets() == 2
        await_ends([member], traffic.ends, "with ZooKeeper back")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.session_id == session
        assert member.claims() == claims
        assert member.errors == []


def test_a_member_cut_off_until_its_session_ended_joins_again(cluster: Sandbox) -> None:
    """It pauses when cut off; in its new session it owns everything, and starts at the commit."""
    topic, group = fresh_name("cut-off"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    with (
        TcpGate(tree.host, tree.port) as gate,
        Member(
            f"127.0.0.1:{gate.port}{tree.chroot}",
            group,
            {topic: 1},
            zookeeper_session_timeout_ms=2000,
            auto_commit_enable=False,
        ) as member,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        await_ends([member], traffic.ends, "before")
        session, claims = member.session_id, member.claims()
        assert member.connector.commit_offsets() == 2
        committed = tree.offsets(group)
        gate.shut()
        wait_until(lambda: tree.members(group) == [], what="the end of the session")
        assert member.observed.of(DeliveryPaused), "it went on without knowing what it owns"
        paused_at, ends = len(member.deliveries), traffic.ends()
        wait_until(
            lambda: all(traffic.ends()[tp] > ends[tp] + 10 for tp in partitions),
            what="new messages",
        )
        assert len(member.deliveries) == paused_at
        gate.open()
        wait_until(lambda: len(tree.owners(group, topic)) == 2, what="both partitions owned again")
        wait_until(lambda: len(member.claims()) == 2, what="both partitions read again")
        acknowledged = traffic.stop()
        twice = duplicates([member], acknowledged)
        assert member.session_id != session
        assert tree.members(group) == [member.connector.consumer_id]
        assert {owner for _, owner in tree.owners(group, topic).values()} == {member.session_id}
        assert len(member.observed.of(DeliveryResumed)) == 1
        for tp, claim in claims.items():
            old = [delivery.offset for delivery in member.deliveries if delivery.claim is claim]
            new = [
                delivery.offset
                for delivery in member.deliveries
                if delivery.claim is member.claims()[tp]
            ]
            assert new[0] == committed[tp]
            assert twice[tp] == old[-1] + 1 - committed[tp]
        assert member.errors == []


@pytest.mark.alone
@pytest.mark.parametrize("tries", range(2))
def test_a_link_that_swallows_packets_stops_delivery_within_a_third_of_the_session(
    cluster: Sandbox, tries: int
) -> None:
    """No connection breaks, so only the silence shows it. Two members read all the time."""
    del tries  # each try starts at another moment between two pings
    topic, group = fresh_name("swallowed"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree, clock, session_ms = ZkTree(cluster), SystemClock(), 4_000
    with ExitStack() as stack:
        gate = stack.enter_context(TcpGate(tree.host, tree.port))
        connect = f"127.0.0.1:{gate.port}{tree.chroot}"
        members = [
            stack.enter_context(Member(connect, group, {topic: 1}, auto_commit_enable=False))
            for _ in range(2)
        ]
        traffic = stack.enter_context(Traffic(cluster, partitions))
        wait_until(lambda: all(len(member.claims()) == 1 for member in members), what="two shares")
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        await_ends(members, traffic.ends, "before")
        assert all(member.store.negotiated_timeout_ms == session_ms for member in members)
        gate.swallow()
        begin_ms = clock.now_ms()
        wait_until(
            lambda: all(member.observed.of(DeliveryPaused) for member in members), what="the pauses"
        )
        counts = [len(member.deliveries) for member in members]
        assert clock.now_ms() - begin_ms < session_ms, "told too late"
        last_ms = [member.deliveries[-1].at_ms for member in members]
        assert all(at_ms - begin_ms <= session_ms // 3 for at_ms in last_ms)
        ends = traffic.ends()
        wait_until(
            lambda: all(traffic.ends()[tp] > ends[tp] + 10 for tp in partitions),
            what="new messages",
        )
        assert [len(member.deliveries) for member in members] == counts
        gate.open()
        wait_until(
            lambda: all(member.observed.of(DeliveryResumed) for member in members),
            what="the end of it",
        )
        acknowledged = traffic.stop()
        wait_until(lambda: all_delivered(members, acknowledged), what="every message")
        assert [member.errors for member in members] == [[], []]


def hold_interpreter(duration_ms: int) -> None:
    """Make one call that keeps the GIL for this long, so that no other thread runs."""
    ctypes.PyDLL(None).usleep(1_000 * duration_ms)


@pytest.mark.alone
def test_a_caller_that_holds_the_interpreter_is_not_taken_for_silence(cluster: Sandbox) -> None:
    """It holds the GIL for longer than the allowed silence: nothing is lost or reported.

    ZooKeeper gets no pings meanwhile, and the session lasts only a little longer, so nothing else
    may run on the machine at that time.
    """
    topic, group = fresh_name("busy"), fresh_name("group")
    (tp,) = partitions_of(topic, 1)
    cluster.create_topic(topic)
    session_ms = 6_000
    with Member(cluster, group, {topic: 1}, zookeeper_session_timeout_ms=session_ms) as member:
        write(cluster, tp, [b"before"])
        wait_until(lambda: member.got(tp), what="a message")
        claims = member.claims()
        hold_interpreter(session_ms // 3 + 200)
        write(cluster, tp, [b"after"])
        wait_until(lambda: len(member.got(tp)) == 2, what="the next message")
        assert member.claims() == claims
        assert member.observed.of(DeliveryPaused) == []
        assert member.errors == []


def test_zookeeper_may_freeze_for_less_than_the_session(cluster: Sandbox) -> None:
    """The member reads on for the allowed silence, and keeps its session."""
    topic, group = fresh_name("thaw"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    settings: dict[str, object] = {"auto_commit_enable": False, "zookeeper_silence_percent": 100}
    with (
        Member(cluster, group, {topic: 1}, **settings) as member,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        session, claims = member.session_id, member.claims()
        cluster.pause_zookeeper()
        try:
            wait_until(lambda: not member.store.connected, what="the member to notice")
            before = traffic.ends()
            wait_until(lambda: traffic.ends() != before, what="new messages")
            await_ends([member], traffic.ends, "while ZooKeeper is frozen")
        finally:
            cluster.resume_zookeeper()
        wait_until(lambda: member.store.connected, what="the connection")
        await_ends([member], traffic.ends, "after it thawed")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert (member.session_id, member.claims()) == (session, claims)
        assert member.errors == []


def test_zookeeper_may_be_down_for_longer_than_the_session(cluster: Sandbox) -> None:
    """The member pauses; ZooKeeper renews every session at its start, so nothing is read twice."""
    topic, group = fresh_name("long"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    session_ms = 2000
    with (
        Member(
            cluster,
            group,
            {topic: 1},
            zookeeper_session_timeout_ms=session_ms,
            auto_commit_enable=False,
        ) as member,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        session, claims = member.session_id, member.claims()
        cluster.kill_zookeeper()
        clock = SystemClock()
        over_ms = clock.now_ms() + session_ms
        wait_until(lambda: clock.now_ms() > over_ms, what="the session's time-out")
        assert member.observed.of(DeliveryPaused), "it went on without knowing what it owns"
        behind = len(member.deliveries)
        ends = traffic.ends()
        wait_until(lambda: traffic.ends() != ends, what="new messages")
        assert len(member.deliveries) == behind
        cluster.start_zookeeper()
        wait_until(lambda: member.store.connected, what="the connection")
        await_ends([member], traffic.ends, "with ZooKeeper back")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert (member.session_id, member.claims()) == (session, claims)
        assert {owner for _, owner in tree.owners(group, topic).values()} == {session}
        assert member.errors == []


def test_a_member_that_left_while_zookeeper_was_down_is_replaced(cluster: Sandbox) -> None:
    """It could not commit: the other member reads its partition again from the start."""
    topic, group = fresh_name("left"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    with Member(cluster, group, {topic: 1}) as stays:
        with Member(cluster, group, {topic: 1}, zookeeper_session_timeout_ms=2000) as leaves:
            wait_until(lambda: len(stays.claims()) == 1, what="a share for each")
            (its,) = leaves.claims()
            with Traffic(cluster, partitions) as traffic:
                wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
                await_ends([stays, leaves], traffic.ends, "before")
                cluster.kill_zookeeper()
                leaves.close()
                cluster.start_zookeeper()
                wait_until(lambda: set(stays.claims()) == set(partitions), what="the whole topic")
                acknowledged = traffic.stop()
        assert duplicates([stays, leaves], acknowledged) == {its: len(leaves.got(its))}
        assert {owner for _, owner in tree.owners(group, topic).values()} == {stays.session_id}
        assert stays.errors == leaves.errors == []


@pytest.mark.parametrize("fault", ["frozen", "down"])
def test_a_shutdown_without_zookeeper_ends_in_time(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    """It logs that it can't commit, and does not wait for ZooKeeper to come back."""
    topic, group = fresh_name("alone"), fresh_name("group")
    (tp,) = partitions_of(topic, 1)
    cluster.create_topic(topic)
    tree, clock = ZkTree(cluster), SystemClock()
    with Member(cluster, group, {topic: 1}, zookeeper_session_timeout_ms=2000) as member:
        write(cluster, tp, [b"value"])
        wait_until(lambda: member.got(tp), what="a message")
        (cluster.pause_zookeeper if fault == "frozen" else cluster.kill_zookeeper)()
        try:
            started_ms = clock.now_ms()
            member.connector.shutdown()
            took_ms = clock.now_ms() - started_ms
        finally:
            (cluster.resume_zookeeper if fault == "frozen" else cluster.start_zookeeper)()
    assert took_ms < PROMPT_MS
    # A ZooKeeper that is killed may be missed only in the middle of the release's commit.
    skipped, broken_off = "Release skipped: no connection to ZooKeeper", "will be delivered again"
    assert skipped in caplog.text or (fault == "down" and broken_off in caplog.text)
    wait_until(lambda: tree.members(group) == [], what="the end of the session")
    assert tree.offset(group, tp) is None


def test_a_shutdown_ends_in_time_while_zookeeper_hangs(
    cluster: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``shutdown.timeout.ms`` covers all of it: leaving, closing the session, and the threads."""
    monkeypatch.setattr(assembly, "CLOSE_TIMEOUT_MS", 60_000)
    topic = fresh_name("hurry")
    cluster.create_topic(topic)
    clock = SystemClock()
    settings: dict[str, object] = {
        "shutdown_timeout_ms": 1_000,
        "zookeeper_session_timeout_ms": PATIENT_MS,
    }
    with Member(cluster, fresh_name("group"), {topic: 1}, **settings) as member:
        cluster.pause_zookeeper()
        try:
            started_ms = clock.now_ms()
            member.connector.shutdown()
            took_ms = clock.now_ms() - started_ms
        finally:
            cluster.resume_zookeeper()
    assert took_ms < PROMPT_MS, "less than the session, and than a good-bye alone may take"
