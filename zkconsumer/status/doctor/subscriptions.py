"""Diagnoses of subscriptions and assignments: unequal, different assignors, too few partitions."""

from collections.abc import Iterable, Iterator

from zkconsumer.assignment.round_robin import uneven_topics
from zkconsumer.assignment.strategy import Strategy
from zkconsumer.assignment.threads import union
from zkconsumer.model import ConsumerThreadId
from zkconsumer.printable import listed
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted, first_names
from zkconsumer.status.doctor.group_context import GroupContext, Shares
from zkconsumer.status.model import GroupState


def examine_subscriptions(context: GroupContext) -> list[Diagnosis]:
    """Compare the members' subscriptions with each other, the topics, and the owners."""
    if not context.readable:
        return []
    shared = _topics_missing(context)
    if context.in_zookeeper:
        return [*shared, *_unequal(context), *_assignors(context), *_idle_threads(context)]
    return [*shared, *_assignors_reported(context), *_idle_members(context)]


def _topics_missing(context: GroupContext) -> Iterator[Diagnosis]:
    missing = sorted(context.group.topics_read - context.partition_ids.keys())
    are_unknown = not context.snapshot.topics and context.snapshot.failures
    if not missing or are_unknown:
        return
    readers = {
        topic: [name for name, member in context.readable.items() if topic in member.streams]
        for topic in missing
    }
    yield Diagnosis(
        code=Code.SUBSCRIBED_TOPIC_MISSING,
        severity=Severity.WARNING,
        what=f"Members subscribe to {counted(len(missing), 'topic')} that do not exist.",
        evidence=[f"{topic}: {listed(readers[topic], limit=2)}" for topic in missing],
        repair=(
            "Correct the name, create the topic, or remove it from the subscription. Members "
            "notice when it is created."
        ),
    )


# --- ZooKeeper groups -----------------------------------------------------------------------


def _unequal(context: GroupContext) -> Iterator[Diagnosis]:
    """Report unequal subscriptions: round-robin refuses such a group."""
    uneven = uneven_topics(context.view)
    strategy = context.around.strategies.get(context.group.group_id)
    if uneven is None or strategy == "range" or _follows(context, context.range_shares):
        return
    threads = context.view.threads_by_topic()
    one, other = uneven
    only = {
        one: threads[one].without(threads[other]),
        other: threads[other].without(threads[one]),
    }
    sure = strategy == "roundrobin"
    yield Diagnosis(
        code=Code.SUBSCRIPTIONS_UNEQUAL,
        severity=Severity.ERROR if sure else Severity.WARNING,
        what=(
            "Not all members read the same topics with the same number of streams. "
            + ("" if sure else "If their partition.assignment.strategy is roundrobin, ")
            + ("Round-robin fails" if sure else "it fails")
            + " for every member until they do; range is not affected."
        ),
        evidence=[f"{topic}: read by {counted(threads[topic].count, 'stream')}" for topic in uneven]
        + [
            f"only {topic} is read by {first_names(map(str, threads), count, 3)}"
            for topic, (count, threads) in only.items()
            if count
        ],
        repair=(
            f"Make the subscriptions equal (start with {one} and {other}), or set "
            "partition.assignment.strategy=range on all members."
        ),
    )


def _follows(context: GroupContext, shares: Shares | None) -> bool:
    return shares is not None and context.owned == shares


def _assignors(context: GroupContext) -> Iterator[Diagnosis]:
    """Report members whose owned partitions fit different strategies, or none."""
    owners = {name: owned for name, owned in context.owned.items() if owned}
    if not context.all_readable or context.settling or len(context.members) < 2 or not owners:
        return
    if _follows(context, context.range_shares) or _follows(context, context.round_robin_shares):
        return
    fits = {name: _fitting(context, name) for name in owners}
    if set.intersection(*map(set, fits.values())):
        return
    lines = [f"{name} owns {_described(context, name, found)}" for name, found in fits.items()]
    if all(fits.values()):
        yield _differ(Severity.ERROR, "Members use different assignment strategies", lines)
        return
    if context.faults:
        return  # rebalancing, or stuck for another reason
    yield _differ(
        Severity.WARNING, "Members own partitions that no strategy assigns to them", lines
    )


def _fitting(context: GroupContext, member_id: str) -> list[Strategy]:
    known: list[tuple[Strategy, Shares | None]] = [
        ("range", context.range_shares),
        ("roundrobin", context.round_robin_shares),
    ]
    owned = context.owned[member_id]
    return [name for name, share in known if share is not None and share[member_id] == owned]


def _described(context: GroupContext, member_id: str, fits: Iterable[Strategy]) -> str:
    number = counted(len(context.owned[member_id]), "partition")
    return f"{number}: its share by {' and '.join(fits) or 'neither strategy'}"


def _differ(severity: Severity, what: str, lines: list[str]) -> Diagnosis:
    return Diagnosis(
        code=Code.ASSIGNORS_DIFFER,
        severity=severity,
        what=(
            f"{what}. Each member computes the assignment by itself, and nothing checks that they "
            "agree: the next rebalance can leave partitions unread."
        ),
        evidence=lines,
        repair=(
            "Set the same partition.assignment.strategy, and the same exclude.internal.topics, "
            "on all members. Clients other than Kafka's may assign partitions in their own way: "
            "give them a group of their own."
        ),
    )


def _idle_threads(context: GroupContext) -> Iterator[Diagnosis]:
    """Report streams that get no partition, by the current or any assignment."""
    found = context.view.threads_by_topic().items()
    by_topic = {topic: of_topic for topic, of_topic in found if context.partition_ids.get(topic)}
    small = [
        topic for topic in by_topic if by_topic[topic].count > len(context.partition_ids[topic])
    ]
    if not small or not context.all_readable:
        return  # each stream gets a partition by either strategy, or subscriptions are unknown
    threads = union(by_topic.values())
    if not context.faults:
        busy = {partition.owner for partition in context.group.partitions}
    elif threads.count > sum(len(context.partition_ids[topic]) for topic in by_topic):
        busy = {str(thread) for thread in (context.threads("range") or {}).values()}
    else:
        return
    idle = threads.count - sum(ConsumerThreadId.parse(owner) in threads for owner in busy if owner)
    if not idle:
        return
    first = (name for name in map(str, threads) if name not in busy)
    yield _too_few(
        f"{counted(idle, 'stream')} of {threads.count} get nothing to read",
        [
            f"{topic}: {counted(by_topic[topic].count, 'stream')}, "
            f"{counted(len(context.partition_ids[topic]), 'partition')}"
            for topic in sorted(small)
        ]
        + [f"idle: {first_names(first, idle)}"],
    )


# --- groups of a coordinator ----------------------------------------------------------------


def _assignors_reported(context: GroupContext) -> Iterator[Diagnosis]:
    by_name: dict[str, list[str]] = {}
    for member in context.group.members:
        if member.assignor is not None:
            by_name.setdefault(member.assignor, []).append(member.member_id)
    if len(by_name) < 2:
        return
    lines = [f"{name}: {listed(members, limit=3)}" for name, members in sorted(by_name.items())]
    yield _differ(Severity.WARNING, "Members name different assignors", lines)


def _idle_members(context: GroupContext) -> Iterator[Diagnosis]:
    # Members without topics are of another kind, e.g. Kafka Connect's.
    idle = [
        name for name, owned in context.owned.items() if not owned and context.members[name].streams
    ]
    if not idle or context.unowned or context.group.state is not GroupState.STABLE:
        return
    members = counted(len(context.members), "member")
    number = sum(len(context.partition_ids.get(topic, ())) for topic in context.group.topics_read)
    yield _too_few(
        f"{counted(len(idle), 'member')} of {len(context.members)} get nothing to read",
        [f"{members}, {counted(number, 'partition')}", f"idle: {listed(idle, limit=5)}"],
    )


def _too_few(what: str, evidence: list[str]) -> Diagnosis:
    return Diagnosis(
        code=Code.TOO_FEW_PARTITIONS,
        severity=Severity.NOTE,
        what=f"{what}, because there are fewer partitions than readers.",
        evidence=evidence,
        repair=(
            "That is fine for members on standby. Otherwise use fewer streams or members, or add "
            "partitions (keyed records then go to other partitions than before)."
        ),
    )
