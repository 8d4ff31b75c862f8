"""Random groups, with the shares that the JVM's assignors and ours compute for them."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self, TypeAlias

from tests.fakes.java_set import JavaHashSet
from tests.golden.jvm import run_oracle
from zkconsumer.assignment.filters import expand
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, Strategy, assign
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.nodes import Pattern, Registration, encode_registration
from zkconsumer.zk.store import CreateOp

GROUP = "grp"
INTERNAL = "__consumer_offsets"
Share: TypeAlias = dict[str, dict[str, list[int]]]
"""Partitions by topic by thread id; ``{"error": {}}`` if the assignor fails."""
ERROR: Share = {"error": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member's id and registration."""

    consumer_id: str
    pattern: str
    subscription: dict[str, int]

    @property
    def registration(self) -> Registration:
        return Registration(
            subscription=self.subscription, pattern=Pattern(self.pattern), timestamp_ms=1
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCase:
    """A group and the cluster's topics."""

    strategy: Strategy
    exclude_internal: bool
    topics: dict[str, list[int]]
    members: tuple[Member, ...]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        members = tuple(Member(**member) for member in fields["members"])
        return cls(**{**fields, "members": members})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def view(self) -> GroupView:
        """Return the group as every member sees it, with topics in a server's order."""
        listed = JavaHashSet()
        for topic in self.topics:
            listed.add(topic)
        members = {
            member.consumer_id: expand(
                member.registration, listed, exclude_internal=self.exclude_internal
            )
            for member in self.members
        }
        return GroupView(members, {topic: tuple(ids) for topic, ids in self.topics.items()})

    def our_share(self, consumer_id: str) -> Share:
        """Return the share that our assignor gives to one member."""
        result = assign(self.strategy, self.view(), consumer_id)
        if isinstance(result, CannotAssign):
            return ERROR
        share: Share = {}
        for tp, thread in sorted(result.items()):
            if thread.consumer_id == consumer_id:
                share.setdefault(str(thread), {}).setdefault(tp.topic, []).append(tp.partition)
        return share

    def agrees(self, consumer_id: str, jvm: Share) -> bool:
        """Whether our assignor gives a member the same share as the JVM."""
        ours = self.our_share(consumer_id)
        if self.strategy == "roundrobin" and not self.view().threads_by_topic():
            # Without any topic the original throws (KAFKA-1648) and ours assigns nothing; in both
            # cases nobody owns a partition.
            return (ours, jvm) == ({}, ERROR)
        return ours == jvm


def random_case(rng: random.Random) -> GroupCase:
    """Return a group of 1 to 6 members that read up to 11 topics with up to 12 streams."""
    names = _topic_names(rng)
    topics = {name: _partitions(rng) for name in names}
    strategy: Strategy = rng.choice(("range", "roundrobin"))
    missing = ["not-there"] if rng.random() < 0.2 else []
    reader = _uneven_reader if strategy == "range" or rng.random() < 0.1 else _even_reader
    members = tuple(
        reader(rng, [*names, *missing], wildcards=not missing) for _ in range(rng.randint(1, 6))
    )
    if rng.random() < 0.5:
        topics[INTERNAL] = _partitions(rng)
    return GroupCase(
        strategy=strategy, exclude_internal=rng.random() < 0.7, topics=topics, members=members
    )


def _topic_names(rng: random.Random) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
    names = {
        "t" + "".join(rng.choice(letters) for _ in range(rng.randint(0, 12)))
        for _ in range(rng.randint(1, 8))
    }
    if rng.random() < 0.25:
        # These names have equal Java hashes, as have those of their partitions.
        names |= {"t" + "".join(rng.choice(("Aa", "BB")) for _ in range(2)) for _ in range(3)}
    return sorted(names, key=lambda _: rng.random())


def _partitions(rng: random.Random) -> list[int]:
    ids = list(range(rng.choice((0, 1, 2, 3, 5, 8, 13, 40))))
    rng.shuffle(ids)
    return ids


def _consumer_id(rng: random.Random) -> str:
    host = rng.choice(("vm", "host-1", "host-10", "a.b.example", "H"))
    return f"{GROUP}_{host}-{rng.randrange(10**12, 10**13)}-{rng.randrange(2**32):x}"


def _even_reader(rng: random.Random, topics: Sequence[str], *, wildcards: bool) -> Member:
    """Return a member that reads everything, sometimes with its topics in another order."""
    streams = rng.choice((1, 2, 3, 12))
    pattern, subscription = "static", dict.fromkeys(topics, streams)
    if wildcards and rng.random() < 0.3:
        pattern, subscription = "white_list", {"t.*": streams}
    elif rng.random() < 0.3:
        shuffled = sorted(topics, key=lambda _: rng.random())
        subscription = dict.fromkeys(shuffled, streams)
    return Member(consumer_id=_consumer_id(rng), pattern=pattern, subscription=subscription)


def _uneven_reader(rng: random.Random, topics: Sequence[str], *, wildcards: bool) -> Member:
    """Return a member that reads some topics, or none."""
    kinds = ("static", "white_list", "black_list") if wildcards else ("static",)
    pattern = rng.choice(kinds)
    if pattern == "static":
        named = rng.sample(list(topics), rng.randint(0, len(topics)))
        subscription = {topic: rng.choice((1, 2, 5, 11)) for topic in named}
    else:
        regex = rng.choice(("t[a-mA-M].*", ".+", r"\w+", "t.{3}|t.*[0-9]", "(?i)T[^a].*"))
        subscription = {regex: rng.choice((1, 2, 11))}
    return Member(consumer_id=_consumer_id(rng), pattern=pattern, subscription=subscription)


def jvm_shares(zookeeper: str, cases: Sequence[GroupCase]) -> list[dict[str, Share]]:
    """Return the JVM's share for every member of every group, after writing them into ZooKeeper.

    Args:
        zookeeper: its address without a chroot; a node remains there for each group.
        cases: the groups.
    """
    lines = []
    responses: list[dict[str, Share]] = []
    store = connect(zookeeper, session_timeout_ms=30_000, connection_timeout_ms=30_000)
    try:
        prefix = f"/assign-{store.session_id:x}"
        for number, case in enumerate(cases):
            chroot = f"{prefix}-{number}"
            store.multi(_nodes(chroot, case))
            ids = ",".join(member.consumer_id for member in case.members)
            exclude = str(case.exclude_internal).lower()
            lines.append("\t".join((chroot, case.strategy, exclude, GROUP, ids)))
            responses.append({member.consumer_id: {} for member in case.members})
    finally:
        store.close()
    for line in run_oracle("AssignorOracle.java", ["assign", zookeeper], lines):
        chroot, consumer_id, *rest = line.split("\t")
        member = responses[int(chroot.rpartition("-")[2])][consumer_id]
        if len(rest) == 1:
            member["error"] = {}
        else:
            thread, topic, partitions = rest
            member.setdefault(thread, {})[topic] = [
                int(partition) for partition in partitions.split(",")
            ]
    return responses


def _nodes(chroot: str, case: GroupCase) -> list[CreateOp]:
    ids = f"{chroot}/consumers/{GROUP}/ids"
    parents = ("", "/brokers", "/brokers/topics", "/consumers", f"/consumers/{GROUP}")
    ops = [CreateOp(chroot + parent, b"") for parent in parents]
    ops.append(CreateOp(ids, b""))
    for topic, partitions in case.topics.items():
        replicas = {str(partition): [0] for partition in partitions}
        text = json.dumps({"version": 1, "partitions": replicas}, separators=(",", ":"))
        ops.append(CreateOp(f"{chroot}/brokers/topics/{topic}", text.encode()))
    for member in case.members:
        data = encode_registration(member.registration)
        ops.append(CreateOp(f"{ids}/{member.consumer_id}", data))
    return ops
