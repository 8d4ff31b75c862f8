"""The nodes that our members write to ZooKeeper, compared with the original's."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

from tests.interop.mixed_group import MixedGroup
from tests.support.matrix import in_matrix
from tests.support.waiting import wait_until
from zkconsumer import Blacklist, Whitelist
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
PERFORMANCE = "kafka.tools.ConsumerPerformance"
TIMESTAMP = re.compile(rb'"timestamp":"[0-9]{13}"')
FILTERS = [
    "one,two",
    r" 'one' , two ",
    r"(orders|clicks)-\d+\.[a-z]{2}",
    r'a"b/c\\d|\p{Alpha}+\t',
    "tab\there|\x7fdelete",
]

Tree = Mapping[str, tuple[bytes, bool]]
"""A node's data, and whether it is ephemeral, by its path in the group."""


def tree_of(group: MixedGroup) -> Tree:
    """Return the group's nodes without its name and timestamps, which always differ."""
    return {
        path.replace(group.name, "G"): (
            TIMESTAMP.sub(b'"timestamp":"T"', node.data).replace(group.name.encode(), b"G"),
            node.ephemeral_owner != 0,
        )
        for path, node in group.peek.tree().items()
    }


@pytest.fixture
def other(cluster: Sandbox, tmp_path: Path) -> Iterator[MixedGroup]:
    """Give a second group on the same cluster."""
    second = MixedGroup(cluster, tmp_path)
    try:
        yield second
    finally:
        second.close()


@in_matrix(
    ("kind", "text"),
    product(["--whitelist", "--blacklist"], FILTERS),
    [*product(["--whitelist"], FILTERS), ("--blacklist", FILTERS[-1])],
)
def test_a_wildcard_registration_is_written_as_by_the_original(
    group: MixedGroup, kind: str, text: str
) -> None:
    """Fields, their order, their types and the escaped expression are equal, byte for byte."""
    topic_filter = Whitelist(text) if kind == "--whitelist" else Blacklist(text)
    group.checks_own_topics_only = True
    group.ours(topic_filter, "ours")
    group.scala(text, "scala", by=kind)
    both = {group.id_of("scala"), group.id_of("ours")}
    wait_until(lambda: group.peek.registrations().keys() == both, what="both registrations")
    tree = tree_of(group)
    assert tree["ids/G_ours"] == tree["ids/G_scala"]
    assert tree["ids/G_ours"][1], "a registration must be ephemeral"


def test_a_static_registration_is_written_as_by_the_original(group: MixedGroup) -> None:
    """``ConsumerPerformance`` and ours have the same subscription, byte for byte."""
    topic = group.topic(2)
    with group.cluster.scala_tool(
        PERFORMANCE,
        *("--zookeeper", group.cluster.zookeeper_connect, "--topic", topic),
        *("--group", group.name, "--threads", "3", "--messages", "1000000"),
    ):
        # The tool deletes the group's nodes before it joins.
        [scala] = wait_until(lambda: list(group.peek.registrations()), what="the original")
        ours = group.ours({topic: 3})
        written = {
            consumer_id: TIMESTAMP.sub(b'"timestamp":"T"', data)
            for consumer_id, data in group.peek.registrations().items()
        }
    assert written[ours.consumer_id] == written[scala]
    assert written[scala] == (
        b'{"version":1,"subscription":{"%s":3},"pattern":"static","timestamp":"T"}' % topic.encode()
    )


def test_a_group_of_ours_leaves_the_same_nodes_as_one_of_the_original(
    group: MixedGroup, other: MixedGroup
) -> None:
    """Paths, contents and ephemerality are equal while a member reads, and after it has left."""
    topic = group.topic(3)
    group.write(4, topic)
    group.writer.write(group.partitions(topic)[1], 7)
    ours = group.ours(Whitelist(topic), "member")
    scala = other.scala(topic, "member")
    group.await_values(group.writer.values, ours)
    group.await_values(group.writer.values, scala)
    group.await_committed(topic)
    other.writer.ends.update(group.writer.ends)
    other.await_committed(topic)
    tree = tree_of(group)
    assert tree == tree_of(other)
    assert tree[f"owners/{topic}/1"] == (b"G_member-0", True)
    assert tree[f"offsets/{topic}/1"] == (b"11", False)

    ours.leave()
    scala.leave()
    tree = tree_of(group)
    assert tree == tree_of(other)
    assert not any(ephemeral for _, ephemeral in tree.values())
