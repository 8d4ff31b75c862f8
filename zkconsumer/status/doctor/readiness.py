"""Finds what blocks an upgrade to another release of Kafka, and the paths to it. Pure.

The one rule: what could not be read is reported, and never counts as ready.

Source: KIP-896, KIP-724, KIP-1041; Kafka's upgrade notes for 3.0, 3.9 and 4.0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.printable import listed
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted
from zkconsumer.status.doctor.ready_clients import examine_clients
from zkconsumer.status.doctor.request_counts import RequestMetrics
from zkconsumer.status.doctor.request_logs import RequestLog
from zkconsumer.status.doctor.upgrade_paths import NEXT, UpgradePath, follows_directly, paths_from
from zkconsumer.status.model import ClusterSnapshot, GroupKind, GroupState
from zkconsumer.wire.releases import Release

_BATCHES: Final = 2
"""The magic of record batches."""
_TOPIC_SETTINGS: Final = {
    "message.format.version": "3.9 ignores it, 4.0 has no such setting",
    "message.timestamp.difference.max.ms": "4.0 has message.timestamp.before.max.ms and "
    "message.timestamp.after.max.ms",
}
_GONE_IN_3: Final = {
    "host.name": "listeners",
    "port": "listeners",
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
    "quota.producer.default": "kafka-configs",
    "quota.consumer.default": "kafka-configs",
}
_GONE_IN_4: Final = {
    "inter.broker.protocol.version": "metadata.version, by kafka-features",
    "log.message.format.version": "nothing: format 2 alone is written",
    "log.message.timestamp.difference.max.ms": "log.message.timestamp.before.max.ms and .after.",
    "control.plane.listener.name": "the controllers' own listeners",
    "broker.id.generation.enable": "node.id",
    "reserved.broker.max.id": "node.id",
    "delegation.token.master.key": "delegation.token.secret.key",
    "offsets.commit.required.acks": "nothing: all replicas in sync",
    "auto.include.jmx.reporter": "metric.reporters",
    "metrics.jmx.blacklist": "metrics.jmx.exclude",
    "metrics.jmx.whitelist": "metrics.jmx.include",
    "leader.imbalance.per.broker.percentage": "nothing: controllers check each leader",
    "controlled.shutdown.max.retries": "nothing: the controller decides when brokers stop",
    "controlled.shutdown.retry.backoff.ms": "nothing: the controller decides when brokers stop",
}
_GONE_PREFIXES: Final = ("zookeeper.", "password.encoder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessFacts:
    """The facts beside a snapshot that readiness depends on.

    Attributes:
        releases: the brokers' releases by id, inferred from the APIs that they support; missing
            ones are unknown.
        formats: the oldest format in the log of each topic, as magic; missing topics are unknown,
            or empty.
        settings: a broker's server.properties; None: not given.
        metrics: the request counts of the brokers that could be read.
        logs: the given request logs of brokers.
    """

    releases: Mapping[int, Release] = field(default_factory=dict)
    formats: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] | None = None
    metrics: tuple[RequestMetrics, ...] = ()
    logs: tuple[RequestLog, ...] = ()


def examine_readiness(
    snapshot: ClusterSnapshot, facts: ReadinessFacts, wanted: str
) -> tuple[Diagnosis, ...]:
    """Return what blocks the upgrade, the worst first.

    Args:
        snapshot: the cluster and its groups.
        facts: the other facts.
        wanted: the release, a key of ``NEXT``.
    """
    target = NEXT[wanted]
    found = [
        *_groups(snapshot, target),
        *_brokers(snapshot, facts, wanted),
        *_formats(facts, target),
        *_topic_settings(snapshot, target),
        *_broker_settings(facts, target),
        *_clients(snapshot, facts, target),
        *_unseen(snapshot, facts),
    ]
    return tuple(sorted(found, key=lambda finding: -finding.severity))


def paths_for(
    snapshot: ClusterSnapshot, facts: ReadinessFacts, wanted: str
) -> tuple[UpgradePath, ...]:
    """Return the paths to a release, the preferred one first; none if all brokers have it."""
    known = _releases(snapshot, facts)
    unknown = [f"broker {at}" for at, release in known.items() if release is None]
    return paths_from(
        _oldest(known),
        listed(unknown, limit=5) or "the brokers, none of which is known",
        wanted,
        has_zookeeper=snapshot.zookeeper != "none",
    )


def _releases(snapshot: ClusterSnapshot, facts: ReadinessFacts) -> dict[int, Release | None]:
    """Return the release of each broker; None if it is unknown."""
    ids = {broker.broker.id for broker in snapshot.brokers} | facts.releases.keys()
    return {at: facts.releases.get(at) for at in sorted(ids)}


def _oldest(known: Mapping[int, Release | None]) -> Release | None:
    """Return the oldest release; None if any is unknown, or there are no brokers."""
    releases = [release for release in known.values() if release is not None]
    return min(releases) if releases and len(releases) == len(known) else None


def _groups(snapshot: ClusterSnapshot, target: Release) -> Iterator[Diagnosis]:
    groups = [
        group for _, group in sorted(snapshot.groups.items()) if group.kind is GroupKind.ZOOKEEPER
    ]
    used = [group for group in groups if group.state is not GroupState.ABANDONED]
    if used:
        is_final = target >= (4, 0)
        yield Diagnosis(
            code=Code.READY_ZOOKEEPER_GROUPS,
            severity=Severity.ERROR if is_final else Severity.WARNING,
            what=(
                f"{counted(len(used), 'group')} use ZooKeeper. "
                + (
                    "Kafka 4 has no ZooKeeper, and rejects the request versions that their "
                    "members use."
                    if is_final
                    else (
                        "3.9 still serves them as long as it runs with ZooKeeper; no later "
                        "release does."
                    )
                )
            ),
            evidence=[
                f"{group.group_id}: {group.state}, {counted(len(group.members), 'member')}"
                for group in used
            ],
            repair=(
                "Rewrite their programs for groups with a coordinator, and migrate their "
                "offsets: docs/migrating-to-a-coordinator-group.md."
            ),
        )
    if len(groups) > len(used):
        left = [group.group_id for group in groups if group not in used]
        yield Diagnosis(
            code=Code.READY_ABANDONED_GROUPS,
            severity=Severity.NOTE,
            what=(
                f"{counted(len(left), 'group')} in ZooKeeper seem abandoned, and need no migration."
            ),
            evidence=(listed(left, limit=20),),
            repair=(
                "Make sure that nobody starts them again; zkconsumer groups delete removes them."
            ),
        )


def _brokers(snapshot: ClusterSnapshot, facts: ReadinessFacts, wanted: str) -> Iterator[Diagnosis]:
    known = _releases(snapshot, facts)
    old = {at: release for at, release in known.items() if release and release < NEXT[wanted]}
    if not old:
        return
    lines = [f"broker {at}: {release_text(release)}" for at, release in old.items()]
    unknown = [f"broker {at}" for at, release in known.items() if release is None]
    has_zookeeper = snapshot.zookeeper != "none"
    if not follows_directly(min(old.values()), wanted, has_zookeeper=has_zookeeper):
        why = "the cluster has, or may have, a ZooKeeper" if has_zookeeper else "too old"
        yield Diagnosis(
            code=Code.READY_BROKERS,
            severity=Severity.ERROR,
            what=f"{counted(len(old), 'broker')} can't be upgraded to {wanted} in place: {why}.",
            evidence=lines,
            repair="Mirror to a new cluster, or upgrade to 3.9 first: see the paths below.",
        )
    elif unknown:
        yield Diagnosis(
            code=Code.READY_BROKERS,
            severity=Severity.WARNING,
            what=(
                f"{counted(len(old), 'broker')} could be upgraded to {wanted} one after the other, "
                f"but the release of {listed(unknown, limit=5)} is not known."
            ),
            evidence=lines,
            repair="Find out that release, and run this again.",
        )
    else:
        yield Diagnosis(
            code=Code.READY_BROKERS,
            severity=Severity.NOTE,
            what=f"{counted(len(old), 'broker')} can be upgraded one after the other.",
            evidence=lines,
            repair=(
                "Set inter.broker.protocol.version to their current release before upgrading the "
                "first one, and raise it after the last one. Releases are inferred from the "
                "requests that brokers support, and can be slightly newer."
            ),
        )


def release_text(release: Release) -> str:
    """Return a release with dots, as people write it."""
    return ".".join(map(str, release))


def _formats(facts: ReadinessFacts, target: Release) -> Iterator[Diagnosis]:
    old = {topic: magic for topic, magic in sorted(facts.formats.items()) if magic < _BATCHES}
    if old:
        yield Diagnosis(
            code=Code.READY_MESSAGE_FORMATS,
            severity=Severity.WARNING if target >= (4, 0) else Severity.NOTE,
            what=(
                f"{counted(len(old), 'topic')} hold messages in old formats. Kafka 4 writes format "
                "2 alone, and converts nothing for old clients."
            ),
            evidence=[f"{topic}: format {magic}" for topic, magic in old.items()],
            repair=(
                "A mirror writes them again in format 2. Otherwise they disappear with their "
                "retention; compacted topics keep them until they are compacted again."
            ),
        )


def _topic_settings(snapshot: ClusterSnapshot, target: Release) -> Iterator[Diagnosis]:
    lines = [
        f"{topic.name}: {name}={topic.config[name]}: {instead}"
        for topic in snapshot.topics
        for name, instead in _TOPIC_SETTINGS.items()
        if topic.config is not None and name in topic.config
        # 3.9 still obeys message.timestamp.difference.max.ms.
        if target >= (4, 0) or name == "message.format.version"
    ]
    if lines:
        yield _settings_gone(lines, "topics", target)


def _broker_settings(facts: ReadinessFacts, target: Release) -> Iterator[Diagnosis]:
    gone = _GONE_IN_3 | (_GONE_IN_4 if target >= (4, 0) else {})
    prefixes = _GONE_PREFIXES if target >= (4, 0) else ()
    lines = [
        f"{name}: {f'replaced by {gone[name]}' if name in gone else 'removed with ZooKeeper'}"
        for name in sorted(facts.settings or {})
        if name in gone or name.startswith(prefixes)
    ]
    if lines:
        yield _settings_gone(lines, "server.properties", target)


def _settings_gone(lines: list[str], where: str, target: Release) -> Diagnosis:
    return Diagnosis(
        code=Code.READY_SETTINGS,
        severity=Severity.WARNING,
        what=(
            f"{counted(len(lines), 'setting')} of {where} will be removed in "
            f"{release_text(target)}, or have no effect."
        ),
        evidence=lines,
        repair="Remove them, and set their replacements.",
    )


def _clients(
    snapshot: ClusterSnapshot, facts: ReadinessFacts, target: Release
) -> Iterator[Diagnosis]:
    oldest = _oldest(_releases(snapshot, facts))
    if target >= (4, 0) and (oldest is None or oldest < target):
        yield from examine_clients(snapshot, facts.metrics, facts.logs)


def _unseen(snapshot: ClusterSnapshot, facts: ReadinessFacts) -> Iterator[Diagnosis]:
    lines = [f"{failure.part}: {failure.reason}" for failure in snapshot.failures]
    known = _releases(snapshot, facts)
    lines += [f"broker {at}: its release" for at, release in known.items() if release is None]
    if not known:
        lines.append("brokers: none is known")
    if snapshot.zookeeper == "unknown":
        lines.append("groups and settings of topics in ZooKeeper: give --zookeeper")
    severity = Severity.WARNING if lines else Severity.NOTE
    holding = {
        topic.name
        for topic in snapshot.topics
        for partition in topic.partitions
        if partition.log_end is None or partition.log_end != partition.log_start
    }
    unread = sorted(holding - facts.formats.keys())
    if unread:
        lines.append(f"the format of the messages of {listed(unread, limit=5)}")
        severity = Severity.WARNING
    if facts.settings is None:
        lines.append("settings of brokers: give --broker-properties FILE (server.properties)")
    if lines:
        yield Diagnosis(
            code=Code.READY_NOT_SEEN,
            severity=severity,
            what=(
                "Not everything could be examined. Parts without findings are unknown, not healthy."
            ),
            evidence=lines,
            repair="Provide what is missing, and run this again.",
        )
