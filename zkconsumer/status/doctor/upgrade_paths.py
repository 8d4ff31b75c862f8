"""The paths to another release of Kafka: each step is possible when its turn comes. Pure.

The order of the steps follows from these facts:

- Any release from 0.8 on can be upgraded to 3.9 in place; 3.9 keeps the ZooKeeper, and rejects no
  client.
- 3.3 to 3.9 can be upgraded to 4.0 in place, without a ZooKeeper; 3.9 is the last release that can
  migrate from ZooKeeper to KRaft.
- 4.0 accepts Java clients from 2.1 on. These work with brokers from 0.10.0 on, and clients of 4
  with brokers from 2.1 on: no Java client works both with brokers of 0.8 or 0.9 and with Kafka 4.
- Brokers coordinate groups from 0.9 on; those of 0.8.2 store offsets, but coordinate no groups.

Source: Kafka's upgrade notes for 3.9 and 4.0; KIP-35, KIP-97, KIP-866, KIP-896.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from zkconsumer.wire.releases import Release

NEXT: Final[Mapping[str, Release]] = {"3.9": (3, 9), "4.0": (4, 0)}
"""The target releases, by the name that users give."""
BRIDGE: Final[Release] = (3, 3)
"""The oldest release that can be upgraded to 4.0 in place, without a ZooKeeper."""


class UpgradeMethod(StrEnum):
    """How to get to another release: a mirror to a new cluster, or an upgrade in place."""

    MIRROR = "mirror"
    IN_PLACE = "in-place"


class Step(StrEnum):
    """A step of a path; ``{wanted}`` is the target release, ``{new}`` that of the new cluster."""

    NEW_CLUSTER = (
        "Set up the new cluster ({new}, KRaft) beside this one. Create its topics, or let the "
        "mirror create them (--create-topics)."
    )
    MIRROR = (
        "Mirror: zkconsumer mirror --offsets-file FILE, from the oldest messages on, and leave "
        "it running until the end. Producers and consumers stay on this cluster for now."
    )
    CLIENTS_TO_3 = (
        "Upgrade every client that does not use ZooKeeper to Java 2.1 to 3.9: Kafka 4 and the "
        "current brokers accept these; clients of Kafka 4 can't talk to brokers before 2.1."
    )
    CLIENTS = "Upgrade every client that does not use ZooKeeper to Java 2.1 or later."
    GROUPS = (
        "Migrate the groups one after the other: stop the members, wait until the mirror has "
        "copied everything that they have committed, set the group in the new cluster to the "
        "same messages (FILE has their offsets there), and start the new members there."
    )
    GROUPS_AND_CLIENTS = (
        f"{GROUPS} They need Java 2.1 or later: such clients can't talk to the current brokers, "
        "so each program changes its client when it moves, not before."
    )
    VERIFY = "Verify: zkconsumer mirror verify --offsets-file FILE checks every message."
    SWITCH = (
        "Switch the producers: stop them, wait until the mirror has copied the rest, and start "
        "them on the new cluster. Verify again, and shut this cluster down."
    )
    SWITCH_AND_CLIENTS = (
        "Switch the producers: stop them, wait until the mirror has copied the rest, and start "
        "them on the new cluster with a client of Java 2.1 or later, which the current brokers "
        "would reject. Verify again, and shut this cluster down."
    )
    TO_3_9 = (
        "Upgrade broker by broker to 3.9, and ZooKeeper first if it is older than 3.5. Set "
        "inter.broker.protocol.version to the current release before the first broker, and raise "
        "it after the last one. Clients stay as they are: 3.9 rejects none."
    )
    TO_3_9_KRAFT = (
        "Upgrade broker by broker to 3.9, then raise metadata.version by kafka-features. Clients "
        "stay as they are: 3.9 rejects none."
    )
    GROUPS_HERE = (
        "Migrate ZooKeeper groups to coordinators: zkconsumer offsets migrate --from zookeeper "
        "--to kafka, group by group, with the members stopped; then start the rewritten ones."
    )
    CHECK = "Verify: zkconsumer doctor, and zkconsumer lag for each group."
    TO_KRAFT = (
        "Migrate the cluster from ZooKeeper to KRaft: add controllers of 3.9, then migrate "
        "broker by broker."
    )
    CHECK_CLIENTS = (
        "Verify with zkconsumer doctor --ready-for {wanted}, after rarely running programs have "
        "run, that no client sends requests in versions that Kafka 4 rejects."
    )
    TO_4 = "Upgrade broker by broker to {wanted}, then raise metadata.version by kafka-features."


_COPY: Final = (Step.NEW_CLUSTER, Step.MIRROR)
_LEAVE: Final = (Step.GROUPS, Step.VERIFY, Step.SWITCH)
_LEAVE_WITH_CLIENTS: Final = (Step.GROUPS_AND_CLIENTS, Step.VERIFY, Step.SWITCH_AND_CLIENTS)
_IN_PLACE: Final[Mapping[tuple[str, bool], tuple[Step, ...]]] = {
    ("3.9", True): (Step.TO_3_9, Step.GROUPS_HERE, Step.CHECK),
    ("3.9", False): (Step.TO_3_9_KRAFT, Step.CHECK),
    ("4.0", True): (
        Step.TO_3_9,
        Step.GROUPS_HERE,
        Step.CLIENTS,
        Step.TO_KRAFT,
        Step.CHECK_CLIENTS,
        Step.TO_4,
    ),
    ("4.0", False): (Step.TO_3_9_KRAFT, Step.CLIENTS, Step.CHECK_CLIENTS, Step.TO_4),
}
"""The steps in place to a release, for a cluster with or without a ZooKeeper."""


@dataclass(frozen=True, slots=True)
class UpgradePath:
    """A method with its steps, in words."""

    method: UpgradeMethod
    steps: tuple[str, ...]


def follows_directly(oldest: Release, wanted: str, *, has_zookeeper: bool) -> bool:
    """Return whether brokers can be upgraded in place without another release in between."""
    return NEXT[wanted] < (4, 0) or (oldest >= BRIDGE and not has_zookeeper)


def paths_from(
    oldest: Release | None, unknown: str, wanted: str, *, has_zookeeper: bool
) -> tuple[UpgradePath, ...]:
    """Return the paths to a release, the preferred one first; none if all brokers have it.

    Args:
        oldest: the release of the oldest broker; None: the release of some broker is unknown.
        unknown: the names of the brokers of unknown release.
        wanted: the release, a key of ``NEXT``.
        has_zookeeper: whether the cluster has a ZooKeeper, or may have one.
    """
    if oldest is None:
        find_out = (
            f"Find out the release of {unknown}, and run this again: the steps below are those "
            "from 0.8, which work for all releases, and whether an upgrade in place is possible "
            "is unknown."
        )
        (mirror,) = _paths([UpgradeMethod.MIRROR], (0, 8), wanted, has_zookeeper=has_zookeeper)
        return (UpgradePath(mirror.method, (find_out, *mirror.steps)),)
    if oldest >= NEXT[wanted]:
        return ()
    is_direct = follows_directly(oldest, wanted, has_zookeeper=has_zookeeper)
    methods = (
        [UpgradeMethod.IN_PLACE, UpgradeMethod.MIRROR]
        if is_direct
        else [UpgradeMethod.MIRROR, UpgradeMethod.IN_PLACE]
    )
    return _paths(methods, oldest, wanted, has_zookeeper=has_zookeeper)


def _paths(
    methods: list[UpgradeMethod], oldest: Release, wanted: str, *, has_zookeeper: bool
) -> tuple[UpgradePath, ...]:
    new = wanted if NEXT[wanted] < (4, 0) else f"{wanted} or later"
    return tuple(
        UpgradePath(
            method,
            tuple(
                step.format(wanted=wanted, new=new)
                for step in steps_of(method, oldest, wanted, has_zookeeper=has_zookeeper)
            ),
        )
        for method in methods
    )


def steps_of(
    method: UpgradeMethod, oldest: Release, wanted: str, *, has_zookeeper: bool
) -> tuple[Step, ...]:
    """Return the steps of a path, in order."""
    if method is UpgradeMethod.IN_PLACE:
        steps = _IN_PLACE[wanted, has_zookeeper]
        is_bridged = wanted == "4.0" and oldest >= BRIDGE and not has_zookeeper
        return steps[1:] if is_bridged else steps
    if NEXT[wanted] < (4, 0):
        return (*_COPY, *_LEAVE)
    if oldest < (0, 10, 0):
        return (*_COPY, *_LEAVE_WITH_CLIENTS)
    return (*_COPY, Step.CLIENTS if oldest >= (2, 1) else Step.CLIENTS_TO_3, *_LEAVE)
