"""Two topics of different sizes; static and wildcard registrations; both strategies."""

import pytest

from tests.interop.group_peek import Owners
from tests.interop.members import OurMember, ScalaMember
from tests.interop.mixed_group import MixedGroup
from tests.interop.test_crowd import check_all_once
from zkconsumer import Blacklist, Whitelist

pytestmark = pytest.mark.sandbox
ROUND_ROBIN = {"partition.assignment.strategy": "roundrobin"}


@pytest.fixture
def topics(group: MixedGroup) -> list[str]:
    """Create a topic of 5 partitions and one of 2."""
    return [group.topic(5, "large"), group.topic(2, "small")]


def owned_by(owners: Owners, member_id: str) -> set[str]:
    """Return the partitions that a member owns."""
    return {tp for tp, thread in owners.items() if thread.rpartition("-")[0] == member_id}


def test_static_and_wildcard_members_share_each_topic_separately(
    group: MixedGroup, topics: list[str]
) -> None:
    """Three members have four streams for one topic and three for the other, by range."""
    large, small = topics
    static = group.ours({large: 2, small: 1}, "a-static")
    group.await_values(group.write(3, *topics), static)
    scala = group.scala(f"{large}|{small}", "b-scala")
    wild = group.ours(Whitelist(f"{large},{small}"), "c-wild")
    snapshot = group.await_settled(topics, ["a-static", "b-scala", "c-wild"])
    assert owned_by(snapshot.owners, static.consumer_id) == {
        *(f"{large}-{number}" for number in (0, 1, 2)),
        f"{small}-0",
    }
    assert owned_by(snapshot.owners, scala.consumer_id) == {f"{large}-3", f"{small}-1"}
    assert owned_by(snapshot.owners, wild.consumer_id) == {f"{large}-4"}
    group.await_values(group.write(5, *topics), static, scala, wild)

    static.leave()
    group.await_settled(topics, ["b-scala", "c-wild"])
    group.await_values(group.write(5, *topics), static, scala, wild)
    check_all_once(group, static, scala, wild)


def test_members_with_one_topic_each_share_it_with_one_that_reads_both(
    group: MixedGroup, topics: list[str]
) -> None:
    """A member that does not read a topic gets no partition of it."""
    large, small = topics
    both = group.ours(Whitelist("|".join(topics)), "b-both")
    group.await_values(group.write(3, *topics), both)
    only_small = group.scala(small, "a-small")
    only_large = group.ours({large: 1}, "c-large")
    snapshot = group.await_settled(topics, ["a-small", "b-both", "c-large"])
    assert owned_by(snapshot.owners, only_small.consumer_id) == {f"{small}-0"}
    assert owned_by(snapshot.owners, only_large.consumer_id) == {f"{large}-3", f"{large}-4"}
    group.await_values(group.write(5, *topics), both, only_small, only_large)
    check_all_once(group, both, only_small, only_large)


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_new_topic_that_filters_match_is_shared_by_both_kinds(
    group: MixedGroup, ours_first: bool
) -> None:
    """Both notice a created topic by themselves; our filter uses Java's regex syntax."""
    first = group.topic(2, f"{group.name}-x")
    pattern = rf"{group.name}-\p{{Lower}}-.+"
    names = ("a", "b") if ours_first else ("b", "a")
    ours = group.ours(Whitelist(pattern), f"{names[0]}-ours")
    group.await_values(group.write(3, first), ours)
    scala = group.scala(pattern, f"{names[1]}-scala")
    group.await_settled([first], [f"{names[0]}-ours", f"{names[1]}-scala"])

    later = group.topic(4, f"{group.name}-y")
    group.await_settled([first, later], [f"{names[0]}-ours", f"{names[1]}-scala"])
    # The original starts at the end of a new partition: wait until it has its offset.
    group.await_offsets(later)
    group.await_values(group.write(5, first, later), ours, scala)
    check_all_once(group, ours, scala)


def test_a_blacklist_of_ours_and_a_white_list_of_the_original_share_what_both_allow(
    group: MixedGroup, topics: list[str]
) -> None:
    """Each expands the other's filter; a topic that only one matches is only assigned to it."""
    large, small = topics
    ours = group.ours(Blacklist(rf"(?!({large}|{small})$).*"), "b-ours")
    group.await_values(group.write(3, *topics), ours)
    scala = group.scala(large, "a-scala")
    snapshot = group.await_settled(topics, ["a-scala", "b-ours"])
    assert owned_by(snapshot.owners, scala.consumer_id) == {f"{large}-{n}" for n in (0, 1, 2)}
    assert f"{small}-0" in owned_by(snapshot.owners, ours.consumer_id)
    group.await_values(group.write(5, *topics), ours, scala)
    check_all_once(group, ours, scala)


@pytest.mark.parametrize("ours_first", [True, False])
def test_wildcards_share_topics_of_equal_hash_by_round_robin(
    group: MixedGroup, ours_first: bool
) -> None:
    """The order in which ZooKeeper lists the topics then decides the assignment."""
    prefix = f"{group.name}-"
    endings = ("BBBB", "Aa", "BBAa", "AaBB", "BB", "AaAa")
    topics = [f"{prefix}{ending}" for ending in endings]
    for topic in topics:
        group.cluster.create_topic(topic, partitions=3)
    first, second = ("ours", "scala") if ours_first else ("scala", "ours")

    def join(kind: str, name: str) -> OurMember | ScalaMember:
        if kind == "ours":
            return group.ours(Whitelist(f"{prefix}.*"), name, settings=ROUND_ROBIN)
        return group.scala(f"{prefix}.*", name, settings=ROUND_ROBIN)

    members = [join(first, "a")]
    group.await_settled(topics, ["a"], strategy="roundrobin")
    group.await_values(group.write(3, *topics), *members)
    members.append(join(second, "b"))
    snapshot = group.await_settled(topics, ["a", "b"], strategy="roundrobin")
    assert len(snapshot.owners) == 18
    assert [len(owned_by(snapshot.owners, member.consumer_id)) for member in members] == [9, 9]
    group.await_values(group.write(5, *topics), *members)

    members.append(join(second, "c"))
    snapshot = group.await_settled(topics, ["a", "b", "c"], strategy="roundrobin")
    assert [len(owned_by(snapshot.owners, member.consumer_id)) for member in members] == [6, 6, 6]
    group.await_values(group.write(5, *topics), *members)
    check_all_once(group, *members)


@pytest.mark.parametrize("static", [False, True], ids=["same-filter", "static"])
def test_round_robin_deals_all_partitions_of_both_topics_in_one_order(
    group: MixedGroup, topics: list[str], static: bool
) -> None:
    """Seven partitions for two threads, in the order of Java's hashes; counts differ by one."""
    pattern = "|".join(topics)
    subscription = dict.fromkeys(topics, 1) if static else Whitelist(pattern)
    ours = group.ours(subscription, "a-ours", settings=ROUND_ROBIN)
    group.await_values(group.write(3, *topics), ours)
    scala = group.scala(pattern, "b-scala", settings=ROUND_ROBIN)
    snapshot = group.await_settled(topics, ["a-ours", "b-scala"], strategy="roundrobin")
    assert len(owned_by(snapshot.owners, ours.consumer_id)) == 4
    assert len(owned_by(snapshot.owners, scala.consumer_id)) == 3
    group.await_values(group.write(5, *topics), ours, scala)

    ours.leave()
    group.await_settled(topics, ["b-scala"], strategy="roundrobin")
    group.await_values(group.write(5, *topics), ours, scala)
    check_all_once(group, ours, scala)
