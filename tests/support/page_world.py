"""A fictional cluster over time, which the page's tests and the documentation's pictures show.

A shop with three brokers, a dozen topics and groups of both kinds: most are healthy, one has just
got a member, one has stopped, one has a node that Scala members can't read. Everything is computed
from the time, so that every run shows the same.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import sin

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.group_state import zookeeper_state
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
    PartFailure,
    PartitionStatus,
    TopicStatus,
)
from zkconsumer.status.verify import expected_owners, group_view
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState, LagSeries, PartitionSeries, PastRebalance
from zkconsumer.zk.nodes import Registration, encode_registration

NOW_MS = 1_795_167_660_000  # 2026-11-20 09:41 UTC
STEP_MS = 15_000
STEPS = 60
TOPICS: Mapping[str, int] = {
    "audit": 3,
    "carts": 6,
    "clicks": 12,
    "emails": 4,
    "invoices": 4,
    "orders": 8,
    "orders-dead-letter": 2,
    "payments": 4,
    "prices": 6,
    "searches": 6,
    "sessions": 8,
    "stock": 6,
}
BILLING = GroupKey(GroupKind.ZOOKEEPER, "billing")
FRAUD = GroupKey(GroupKind.ZOOKEEPER, "fraud-scoring")
MAILER = GroupKey(GroupKind.ZOOKEEPER, "mailer")
SETTLEMENT = GroupKey(GroupKind.ZOOKEEPER, "settlement")
LONG = GroupKey(
    GroupKind.ZOOKEEPER, "com.example.platform.warehouse.replenishment.forecasting-service.v2"
)
CHECKOUT = GroupKey(GroupKind.COORDINATOR, "checkout")

Lags = Callable[[int, int], int]
"""Returns the lag of a partition at a step."""


def _calm(partition: int, step: int) -> int:
    return max(0, int(11 + 24 * sin(step / 2 + partition)))


def _none(partition: int, step: int) -> int:
    del partition, step
    return 0


def _billing(partition: int, step: int) -> int:
    if partition == 5:
        return 900 + step * 47
    rebalance = max(0, 12 - abs(step - 50)) * (38 + 5 * partition)
    return _calm(partition, step) * (partition + 2) + rebalance


def _fraud(partition: int, step: int) -> int:
    return _calm(partition, step) if step < 28 else (step - 28) * (210 + 30 * partition)


def _catching_up(partition: int, step: int) -> int:
    return 90_000 - 1_200 * step + 31 * partition


def _settlement(partition: int, step: int) -> int:
    return (step + 20) * 300 if partition > 1 else _calm(partition, step)


@dataclass(frozen=True, kw_only=True)
class GroupScript:
    """The script of a group's behaviour.

    Attributes:
        hosts: its members' hosts, each with the step at which it joined.
        topics: its topics, with the number of streams of each member.
        lags: its lag by partition and step.
        commits_until: the step of its last commit.
        gone: the host of a dead member that is still registered; "" for none.
    """

    hosts: Mapping[str, int]
    topics: Mapping[str, int]
    lags: Lags = _calm
    commits_until: int = STEPS
    gone: str = ""


_SCRIPTS: Mapping[GroupKey, GroupScript] = {
    GroupKey(GroupKind.ZOOKEEPER, "archiver"): GroupScript(
        hosts={"store1": 0, "store2": 0}, topics={"audit": 1, "invoices": 1}, lags=_none
    ),
    BILLING: GroupScript(
        hosts={"bill1": 0, "bill2": 0, "bill3": 50},
        topics={"orders": 2, "payments": 2},
        lags=_billing,
    ),
    CHECKOUT: GroupScript(
        hosts={"shop1": 0, "shop2": 0, "shop3": 0}, topics={"carts": 1}, lags=_calm
    ),
    GroupKey(GroupKind.ZOOKEEPER, "click-stream"): GroupScript(
        hosts={f"etl{host}": 0 for host in range(1, 7)}, topics={"clicks": 2, "searches": 2}
    ),
    FRAUD: GroupScript(
        hosts={"risk1": 0, "risk2": 0}, topics={"payments": 2}, lags=_fraud, commits_until=28
    ),
    MAILER: GroupScript(hosts={"mail1": 0, "mail2": 0}, topics={"emails": 1}),
    GroupKey(GroupKind.ZOOKEEPER, "nightly-export"): GroupScript(
        hosts={}, topics={"orders-dead-letter": 1}, lags=_none, commits_until=0
    ),
    GroupKey(GroupKind.COORDINATOR, "recommender"): GroupScript(
        hosts={"ml1": 0, "ml2": 0}, topics={"sessions": 1, "clicks": 1}
    ),
    GroupKey(GroupKind.ZOOKEEPER, "search-index"): GroupScript(
        hosts={"find1": 0, "find2": 0}, topics={"stock": 1, "prices": 1}, lags=_none
    ),
    LONG: GroupScript(
        hosts={
            f"ip-10-21-{number}-17.eu-central-1.compute.warehouse.internal.example.com": 0
            for number in (104, 211)
        },
        topics={"stock": 1},
        lags=_catching_up,
    ),
    SETTLEMENT: GroupScript(
        hosts={"host6": 0, "host7": 0},
        topics={"invoices": 1},
        lags=_settlement,
        gone="host7",
    ),
}


def snapshot_at(step: int, *, failing: bool = False) -> ClusterSnapshot:
    """Return the cluster at a step; the last step is now."""
    at_ms = NOW_MS - (STEPS - step) * STEP_MS
    topics = tuple(_topic(name, count, step, at_ms) for name, count in TOPICS.items())
    groups = {key: _group(key, script, step, at_ms) for key, script in _SCRIPTS.items()}
    failures: tuple[PartFailure, ...] = ()
    if failing:
        failures = (
            PartFailure(
                part="log ends of broker 2",
                reason="broker 2 (kafka2:9092) did not answer within 5,000 ms",
                since_ms=at_ms - 42_000,
            ),
        )
    return ClusterSnapshot(
        taken_ms=at_ms,
        zookeeper_connect="zk1:2181,zk2:2181,zk3:2181/shop",
        brokers=tuple(
            BrokerStatus(
                broker=Broker(partition, f"kafka{partition}", 9092),
                seen_ms=at_ms,
                is_controller=partition == 1,
                created_ms=NOW_MS - (9 + partition * 16) * 86_400_000,
            )
            for partition in (1, 2, 3)
        ),
        topics=topics,
        groups=groups,
        failures=failures,
        live_sessions=frozenset(range(1, 200)),
    )


def state_at(step: int = STEPS, *, memory: Memory | None = None, **more: bool) -> ClusterState:
    """Return the state published at a step, with the history of all steps before."""
    memory = memory or Memory()
    for earlier in range(step):
        memory.record(snapshot_at(earlier))
    snapshot = snapshot_at(step, **more)
    memory.record(snapshot)
    before = snapshot_at(max(0, step - 24))
    return ClusterState(
        number=step + 1,
        snapshot=snapshot,
        started_ms=snapshot_at(0).taken_ms,
        read_duration_ms=84,
        interval_ms=5_000,
        problem=None,
        judgements=Judgements(snapshot, before, memory),
    )


def _end(topic: str, partition: int, step: int) -> int:
    rate = 0 if topic == "orders-dead-letter" else 20 + 7 * (len(topic) + partition) % 90
    return 1_200_000 + 310_007 * partition + (step + 400) * rate * STEP_MS // 1_000


def _topic(name: str, count: int, step: int, at_ms: int) -> TopicStatus:
    partitions = []
    for number in range(count):
        replicas = (number % 3 + 1, (number + 1) % 3 + 1)
        lagging = (name, number) in {("clicks", 4), ("sessions", 1)}
        end = _end(name, number, step)
        partitions.append(
            PartitionStatus(
                topic_partition=TopicPartition(name, number),
                leader=replicas[0],
                replicas=replicas,
                in_sync=replicas[:1] if lagging else replicas,
                log_start=end - 900_000,
                log_end=end,
                offsets_at_ms=at_ms,
            )
        )
    config = {"retention.ms": "259200000"} if name in {"orders", "clicks"} else {}
    return TopicStatus(name=name, seen_ms=at_ms, partitions=tuple(partitions), config=config)


def _group(key: GroupKey, script: GroupScript, step: int, at_ms: int) -> GroupStatus:
    members = [
        _member(key, script, host, joined_step, session)
        for session, (host, joined_step) in enumerate(script.hosts.items(), start=1)
        if joined_step <= step
    ]
    if key == MAILER:
        members.append(_foreign_member())
    in_zookeeper = key.kind is GroupKind.ZOOKEEPER
    sound = GroupStatus(
        group_id=key.group_id,
        kind=key.kind,
        seen_ms=at_ms,
        members=tuple(sorted(members, key=lambda status: status.member_id)),
        coordinator=None if in_zookeeper else Broker(3, "kafka3", 9092),
        protocol=None if in_zookeeper or not members else "range",
    )
    owners = {
        tp: owner
        for tp, owner in _owners(sound).items()
        if not script.gone or f"_{script.gone}-" not in owner
    }
    sessions = {member.member_id: member.session_id for member in sound.members}
    partitions = tuple(
        _partition(
            key,
            script,
            TopicPartition(topic, number),
            step,
            at_ms,
            owners=owners,
            sessions=sessions,
        )
        for topic in sorted(script.topics)
        for number in range(TOPICS[topic])
    )
    state = GroupState.STABLE
    if in_zookeeper:
        filled = GroupStatus(
            group_id=key.group_id,
            kind=key.kind,
            seen_ms=at_ms,
            members=sound.members,
            partitions=partitions,
        )
        ids = {name: tuple(range(count)) for name, count in TOPICS.items()}
        state = zookeeper_state(filled, ids, None)
    return GroupStatus(
        group_id=key.group_id,
        kind=key.kind,
        seen_ms=at_ms,
        state=state,
        members=sound.members,
        partitions=partitions,
        coordinator=sound.coordinator,
        protocol=sound.protocol,
    )


def _member(
    key: GroupKey, script: GroupScript, host: str, joined_step: int, session: int
) -> MemberStatus:
    made_ms = NOW_MS - (STEPS - joined_step) * STEP_MS - (0 if joined_step else 7_400_000 * session)
    tag = f"{sum(host.encode()) * 2_654_435_761 % 2**32:08x}"
    if key.kind is GroupKind.COORDINATOR:
        return MemberStatus(
            member_id=f"{host}-{tag}",
            host=host,
            client_id=host,
            streams=dict.fromkeys(script.topics, 1),
            assignor="range",
        )
    return MemberStatus(
        member_id=f"{key.group_id}_{host}-{made_ms}-{tag}",
        host=host,
        streams=script.topics,
        session_id=0 if host == script.gone else session,
        registered_ms=made_ms,
        created_ms=made_ms,
        data=encode_registration(Registration(subscription=script.topics, timestamp_ms=made_ms))
        if host == script.gone
        else None,
    )


def _foreign_member() -> MemberStatus:
    return MemberStatus(
        member_id="mail-legacy:3f0b6f5e-61c5-4a04-9f6c-0f1f4a2f8f55",
        session_id=77,
        created_ms=NOW_MS - 40_000_000,
        data=b"emails",
        problem="its data is no JSON: 'emails'",
    )


def _owners(group: GroupStatus) -> dict[TopicPartition, str]:
    ids = {name: tuple(range(count)) for name, count in TOPICS.items()}
    view: GroupView = group_view(group, ids)
    owners = expected_owners("range", view)
    assert isinstance(owners, dict)
    if group.kind is GroupKind.COORDINATOR:
        return {tp: thread.consumer_id for tp, thread in owners.items()}
    return {tp: str(thread) for tp, thread in owners.items()}


def _committed(script: GroupScript, tp: TopicPartition, step: int) -> int:
    at = min(step, script.commits_until)
    return _end(tp.topic, tp.partition, at) - max(0, script.lags(tp.partition, at))


def _partition(
    key: GroupKey,
    script: GroupScript,
    tp: TopicPartition,
    step: int,
    at_ms: int,
    *,
    owners: Mapping[TopicPartition, str],
    sessions: Mapping[str, int | None],
) -> GroupPartition:
    end = _end(tp.topic, tp.partition, step)
    committed_step = min(step, script.commits_until)
    offset = _committed(script, tp, step)
    in_zookeeper = key.kind is GroupKind.ZOOKEEPER
    committed = CommittedOffset(
        offset,
        "zookeeper" if in_zookeeper else "kafka",
        at_ms,
        at_ms - (step - committed_step) * STEP_MS - 2_000,
    )
    return GroupPartition(
        topic_partition=tp,
        owner=owners.get(tp),
        owner_session=sessions[owners[tp].rpartition("-")[0]]
        if in_zookeeper and tp in owners
        else None,
        committed=(committed,),
        log_start=end - 900_000,
        log_end=end,
        log_at_ms=at_ms,
    )


@dataclass
class ScriptedPast:
    """A ``Past`` with the last hour of the script, during which the server was stopped once.

    Attributes:
        problem: see ``Past``.
        events: the rebalances before the server's start.
    """

    problem: str | None = None
    events: tuple[PastRebalance, ...] = field(
        default=(
            PastRebalance(
                began_ms=NOW_MS - 2_460_000,
                ended_ms=NOW_MS - 2_454_000,
                reasons=("member bill2-1795153860000-0b7c11aa was restarted",),
                moved=6,
                reclaimed=6,
            ),
        )
    )

    def lag_series(self, key: GroupKey, since_ms: int, until_ms: int, points: int) -> LagSeries:
        """See ``Past``."""
        script = _SCRIPTS.get(key)
        if script is None:
            return LagSeries()
        step_ms = max(STEP_MS, (until_ms - since_ms) // points)
        times = [
            at
            for at in range(max(since_ms, NOW_MS - 3_600_000), min(until_ms, NOW_MS) + 1, step_ms)
            if not NOW_MS - 3_000_000 < at < NOW_MS - 2_700_000
        ]
        partitions = {}
        for topic in sorted(script.topics):
            for number in range(TOPICS[topic]):
                tp = TopicPartition(topic, number)
                steps = [STEPS - (NOW_MS - at) // STEP_MS for at in times]
                lags = tuple(_end(topic, number, at) - _committed(script, tp, at) for at in steps)
                partitions[tp] = PartitionSeries(
                    lag=lags,
                    committed=tuple(_committed(script, tp, at) for at in steps),
                    log_end=tuple(_end(topic, number, at) for at in steps),
                    seconds=tuple(lag / 40 for lag in lags),
                )
        totals = [
            sum(partition.lag[at] or 0 for partition in partitions.values())
            for at in range(len(times))
        ]
        return LagSeries(times_ms=tuple(times), total=tuple(totals), partitions=partitions)

    def trends(
        self, keys: Collection[GroupKey], since_ms: int, until_ms: int, points: int
    ) -> dict[GroupKey, tuple[int | None, ...]]:
        """See ``Past``."""
        trends: dict[GroupKey, tuple[int | None, ...]] = {}
        width_ms = (until_ms - since_ms) // points
        for key in keys:
            series = self.lag_series(key, since_ms, until_ms, 1_000)
            lags: dict[int, int] = {}
            for at_ms, lag in zip(series.times_ms, series.total, strict=True):
                place = (at_ms - since_ms) // width_ms
                lags[place] = max(lag or 0, lags.get(place, 0))
            trends[key] = tuple(lags.get(place) for place in range(points))
        return trends

    def rebalances(self, key: GroupKey, since_ms: int) -> tuple[PastRebalance, ...]:
        """See ``Past``."""
        return self.events if key == BILLING and since_ms < self.events[0].began_ms else ()
