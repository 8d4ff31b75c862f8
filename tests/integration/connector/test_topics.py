"""Topics that grow, appear and disappear while members read."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, await_ends, duplicates
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import Blacklist, Whitelist
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def test_a_topic_that_grows_is_read_whole(cluster: Sandbox) -> None:
    """Partitions 2 to 7 are added while two members read, and are read from their first message.

    One old partition moves; at most the message being processed there comes twice.
    """
    topic, group = fresh_name("grows"), fresh_name("group")
    old, every = partitions_of(topic, 2), partitions_of(topic, 8)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    with (
        Member(cluster, group, {topic: 2}, consumer_id="a") as first,
        Member(cluster, group, {topic: 2}, consumer_id="b") as second,
        Traffic(cluster, old) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        await_ends([first, second], traffic.ends, "before")
        # The range assignor gave both to the first member's two threads; the second has none.
        assert set(first.claims()) == set(old)
        cluster.add_partitions(topic, 8)
        traffic.add(every[2:])
        wait_until(
            lambda: (
                set(first.claims()) == set(every[:4]) and set(second.claims()) == set(every[4:])
            ),
            what="four partitions for each",
        )
        wait_until(lambda: len(traffic.ends()) == 8, what="traffic on the new partitions")
        await_ends([first, second], traffic.ends, "after")
        acknowledged = traffic.stop()
        # Partition 1 went from thread a-1 to thread a-0, which began at the commit.
        assert duplicates([first, second], acknowledged).keys() <= {old[1]}
        assert sum(duplicates([first, second], acknowledged).values()) <= 1
        for tp in every[2:]:
            assert (first.got(tp) or second.got(tp))[0] == 0
        assert len(tree.owners(group, topic)) == 8
        assert first.errors == second.errors == []


def test_a_topic_that_is_created_later_is_read_from_its_start(cluster: Sandbox) -> None:
    """Streams may be created before their topic; its first message is delivered."""
    topic, group = fresh_name("later"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    with Member(cluster, group, {topic: 1}) as member:
        assert member.claims() == {}
        cluster.create_topic(topic, partitions=2)
        with Traffic(cluster, partitions) as traffic:
            wait_until(lambda: set(member.claims()) == set(partitions), what="both partitions")
            acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert [member.got(tp)[0] for tp in partitions] == [0, 0]


@pytest.mark.parametrize("kind", [Whitelist, Blacklist])
def test_a_filter_takes_in_a_new_topic_that_matches(
    cluster: Sandbox, kind: type[Whitelist] | type[Blacklist]
) -> None:
    """The former topic is read on undisturbed; a topic that does not match is ignored."""
    word, group = fresh_name("word"), fresh_name("group")
    present, new, other = f"{word}.present", f"{word}.new", f"{word}-other"
    # The blacklist excludes all but two topics: the cluster is shared with other tests.
    text = rf"{word}\.\w+" if kind is Whitelist else rf"(?!{word}\.).*"
    cluster.create_topic(present)
    (old_tp, new_tp) = TopicPartition(present, 0), TopicPartition(new, 0)
    with Member(cluster, group, kind(text)) as member, Traffic(cluster, [old_tp]) as traffic:
        await_ends([member], traffic.ends, "before")
        claims = member.claims()
        assert set(claims) == {old_tp}
        cluster.create_topic(other)
        cluster.create_topic(new)
        traffic.add([new_tp])
        wait_until(lambda: set(member.claims()) == {old_tp, new_tp}, what="the new topic")
        assert member.claims()[old_tp] is claims[old_tp]
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic on both")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.errors == []


def test_a_deleted_topic_is_released_and_the_others_are_read_on(cluster: Sandbox) -> None:
    """Created again, it is read from its start: the old offset is beyond the new log."""
    doomed, lasting, group = fresh_name("doomed"), fresh_name("lasting"), fresh_name("group")
    doomed_tp, lasting_tp = TopicPartition(doomed, 0), TopicPartition(lasting, 0)
    cluster.create_topic(doomed)
    cluster.create_topic(lasting)
    write(cluster, doomed_tp, [b"old"] * 20)
    tree = ZkTree(cluster)
    with (
        Member(cluster, group, {doomed: 1, lasting: 1}) as member,
        Traffic(cluster, [lasting_tp]) as traffic,
    ):
        wait_until(lambda: len(member.got(doomed_tp)) == 20, what="the doomed topic")
        cluster.delete_topic(doomed)
        wait_until(lambda: set(member.claims()) == {lasting_tp}, what="the topic let go")
        wait_until(lambda: tree.owners(group, doomed) == {}, what="its owner node gone")
        assert tree.offset(group, doomed_tp) == 20
        await_ends([member], traffic.ends, "while it is gone")
        cluster.create_topic(doomed)
        write(cluster, doomed_tp, [b"new"] * 5)
        wait_until(lambda: b"new" in member.values(doomed_tp), what="the new topic")
        wait_until(lambda: len(member.got(doomed_tp)) == 25, what="all of the new topic")
        assert member.got(doomed_tp)[20:] == [0, 1, 2, 3, 4]
        acknowledged = traffic.stop()
        twice = duplicates([member], acknowledged)
        assert twice.keys() <= {doomed_tp}  # the same numbers, other messages
        assert member.errors == []
