"""Groups as read from ZooKeeper: malformed, refused, beyond the deadline, and read again."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.group_tree import NODES_MS, REGISTERED_MS, GroupTree
from tests.support.manual_clock import ManualClock
from tests.support.shares import examples
from zkconsumer.assignment.filtering import FilterBudget
from zkconsumer.errors import RegistryError
from zkconsumer.model import TopicPartition
from zkconsumer.status.group_state import zookeeper_state
from zkconsumer.status.model import (
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
)
from zkconsumer.status.reading import group_nodes, zookeeper_groups
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.zookeeper_groups import ZookeeperGroups
from zkconsumer.status.verify import verify
from zkconsumer.zk.nodes import Pattern

LIMIT_MS = 10_000
TOPICS = {"s": (0,), "t": (0, 1)}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def tree() -> GroupTree:
    """Create an empty ZooKeeper."""
    return GroupTree()


@pytest.fixture
def clock() -> ManualClock:
    """Create a clock."""
    return ManualClock()


def read_once(tree: GroupTree, clock: ManualClock) -> dict[str, GroupStatus]:
    """Read all groups with a new reader."""
    read = ZookeeperGroups(tree.store, clock).read(TOPICS, Deadline(clock, LIMIT_MS))
    assert read.failure is None
    assert read.listed == read.groups.keys()
    return dict(read.groups)


def test_without_groups_the_result_is_empty(tree: GroupTree, clock: ManualClock) -> None:
    """Without groups, and without a node for them, the result is empty."""
    assert read_once(tree, clock) == {}


def test_a_group_is_read(tree: GroupTree, clock: ManualClock) -> None:
    """A group has members, owners and offsets, with their sessions and times."""
    member = "g_host-1-1400000000000-1a2b3c4d"
    session = tree.join("g", member, {"t": 2})
    tree.own("g", "t", 0, f"{member}-0", session)
    tree.commit("g", "t", 0, b"5")
    tree.commit("g", "gone", 3, b"7")
    group = read_once(tree, clock)["g"]
    [found] = group.members
    assert (group.kind, group.seen_ms, group.problems) == (
        GroupKind.ZOOKEEPER,
        clock.wall_ms(),
        (),
    )
    assert (found.member_id, found.host, found.streams) == (member, "host-1", {"t": 2})
    assert (found.pattern, found.regex, found.problem) == (Pattern.STATIC, None, None)
    assert (found.session_id, found.registered_ms, found.created_ms) == (
        session.session_id,
        REGISTERED_MS,
        NODES_MS,
    )
    now_ms = clock.wall_ms()
    assert group.partitions == (
        GroupPartition(
            TopicPartition("gone", 3),
            committed=(CommittedOffset(7, "zookeeper", now_ms, NODES_MS),),
        ),
        GroupPartition(
            T0,
            f"{member}-0",
            session.session_id,
            NODES_MS,
            (CommittedOffset(5, "zookeeper", now_ms, NODES_MS),),
        ),
        GroupPartition(T1),
    )


def test_regexes_are_expanded(tree: GroupTree, clock: ManualClock) -> None:
    """Regexes are expanded as in Java, and one that can't be is a problem of its member."""
    text = b'{"version":1,"subscription":{"%s":1},"pattern":"%s","timestamp":"1"}'
    tree.join_as("g", "a", text % (b"[st]", b"white_list"))
    tree.join_as("g", "b", text % (b"t", b"black_list"))
    tree.join_as("g", "c", text % (b"(", b"white_list"))
    a, b, c = read_once(tree, clock)["g"].members
    assert (a.streams, a.regex, a.pattern) == ({"s": 1, "t": 1}, "[st]", Pattern.WHITE_LIST)
    assert (b.streams, b.pattern) == ({"s": 1}, Pattern.BLACK_LIST)
    assert (c.streams, c.regex) == ({}, "(")
    assert "'('" in str(c.problem)


def test_malformed_nodes_hide_nothing_else(tree: GroupTree, clock: ManualClock) -> None:
    """Malformed registrations, offsets and names are problems, and hide nothing else."""
    tree.join("g", "fine", {"t": 1})
    tree.join_as("g", "garbage", b"garbage")
    tree.commit("g", "t", 0, b"five")
    tree.commit("g", "t", 1, b"-1")
    tree.commit("g", "t", "01", b"1")
    tree.own("g", "t", "x", "fine-0")
    group = read_once(tree, clock)["g"]
    fine, garbage = group.members
    assert (fine.problem, garbage.data) == (None, b"garbage")
    assert garbage.problem
    assert "its offset node: 'five' is not an offset" in str(group.partitions[0].problem)
    assert group.partitions[1] == GroupPartition(T1)
    assert group.problems == (
        "owner node 'x' of topic t is not a partition number",
        "offset node '01' of topic t is not a partition number",
    )


def test_refused_nodes_hide_nothing_else(tree: GroupTree, clock: ManualClock) -> None:
    """Refused nodes are problems of their group, and hide no other group."""
    for group in ("open", "shut"):
        session = tree.join(group, "m", {"t": 1})
        tree.own(group, "t", 0, "m-0", session)
        tree.commit(group, "t", 0, b"5")
    tree.client.refuses = lambda path: path.startswith(
        ("/consumers/shut/ids", "/consumers/shut/owners/t/", "/consumers/shut/offsets/")
    )
    groups = read_once(tree, clock)
    assert groups["open"].problems == ()
    assert groups["open"].partitions[0].owner == "m-0"
    assert [partition.problem for partition in groups["open"].partitions] == [None, None]
    shut = groups["shut"]
    assert [problem.split(":")[0] for problem in shut.problems] == [
        "could not read /consumers/shut/ids",
        "could not read /consumers/shut/offsets/t",
        "not all members and owners were read",
    ]
    assert (groups["open"].is_complete, shut.is_complete) == (True, False)
    [only] = shut.partitions
    assert (only.topic_partition, only.owner) == (T0, None)
    assert "owners/t/0: access denied" in str(only.problem)


def test_a_refused_node_is_not_remembered_as_missing(tree: GroupTree, clock: ManualClock) -> None:
    """A refused owner node is not remembered as a missing one."""
    tree.own("g", "t", 0, "m-0")
    tree.own("g", "t", 1, "m-0")
    tree.client.refuses = lambda path: path == "/consumers/g/owners/t/1"
    groups = ZookeeperGroups(tree.store, clock)
    for _ in range(2):
        read = groups.read(TOPICS, Deadline(clock, LIMIT_MS))
        zero, one = read.groups["g"].partitions
        assert (zero.owner, zero.problem) == ("m-0", None)
        assert "access denied" in str(one.problem)
    tree.client.refuses = lambda _: False
    read = groups.read(TOPICS, Deadline(clock, LIMIT_MS))
    assert [partition.owner for partition in read.groups["g"].partitions] == ["m-0", "m-0"]


def test_regexes_match_no_internal_topics(tree: GroupTree, clock: ManualClock) -> None:
    """Regexes match no internal topics, as by default in members."""
    tree.join_as(
        "g", "a", b'{"version":1,"subscription":{".*":1},"pattern":"white_list","timestamp":"1"}'
    )
    topics = {**TOPICS, "__consumer_offsets": (0,)}
    read = ZookeeperGroups(tree.store, clock).read(topics, Deadline(clock, LIMIT_MS))
    assert read.groups["g"].members[0].streams == {"s": 1, "t": 1}


def test_a_group_that_is_created_again_is_a_new_one(tree: GroupTree, clock: ManualClock) -> None:
    """A group that is created again is read before known groups: nothing of it is remembered."""
    for name in ("a", "b"):
        tree.commit(name, "t", 0, b"5")
    groups = ZookeeperGroups(tree.store, clock)
    groups.read(TOPICS, Deadline(clock, LIMIT_MS))
    tree.delete("/consumers/b")
    groups.read(TOPICS, Deadline(clock, LIMIT_MS))
    tree.commit("b", "t", 0, b"6")
    requested: list[str] = []
    tree.client.before = requested.extend
    groups.read(TOPICS, Deadline(clock, LIMIT_MS))
    assert requested.index("/consumers/b/ids") < requested.index("/consumers/a/ids")


def test_a_member_that_leaves_meanwhile_is_none(tree: GroupTree, clock: ManualClock) -> None:
    """A member that leaves between the list and its read is no member."""
    tree.join("g", "stays", {"t": 1})
    leaves = tree.join("g", "leaves", {"t": 1})

    def leave(paths: object) -> None:
        if paths == ["/consumers/g/ids/leaves", "/consumers/g/ids/stays"]:
            leaves.close()

    tree.client.before = leave
    assert [member.member_id for member in read_once(tree, clock)["g"].members] == ["stays"]


def test_offsets_have_the_time_after_their_read(tree: GroupTree, clock: ManualClock) -> None:
    """Offsets have a time after their read, since they were committed by then.

    Members and owners have the time of the group's list, as later ones may be missing.
    """
    session = tree.join("g", "m", {"t": 1})
    tree.own("g", *T0, "m-0", session)
    began_ms = clock.wall_ms()

    def commit_meanwhile(paths: Sequence[str]) -> None:
        clock.advance(1)
        if f"/consumers/g/offsets/{T0.topic}" in paths:
            tree.commit("g", *T0, b"6")

    tree.commit("g", *T0, b"5")
    tree.client.before = commit_meanwhile
    group = read_once(tree, clock)["g"]
    [committed] = group.partitions[0].committed
    assert (committed.offset, committed.seen_ms) == (6, clock.wall_ms())
    # This is after the list of groups.
    assert group.seen_ms == began_ms + 1


def test_groups_beyond_the_deadline_are_first_the_next_time(
    tree: GroupTree, clock: ManualClock
) -> None:
    """Groups that were not read before the deadline are read first the next time."""
    names = [f"g{number:02}" for number in range(40)]
    for name in names:
        tree.commit(name, "t", 0, b"5")
    groups = ZookeeperGroups(tree.store, clock)
    tree.client.before = lambda _: clock.advance(1)
    first = groups.read(TOPICS, Deadline(clock, 12))
    assert first.listed == set(names)
    assert 0 < len(first.groups) < len(names)
    assert str(first.failure).startswith(f"{40 - len(first.groups)} of 40 groups were not read: ")
    second = groups.read(TOPICS, Deadline(clock, 60))
    assert second.failure is None
    seen = {name: group.seen_ms for name, group in second.groups.items()}
    assert max(seen[name] for name in names if name not in first.groups) <= min(
        seen[name] for name in first.groups
    )


def test_groups_that_a_page_shows_are_read_first(tree: GroupTree, clock: ManualClock) -> None:
    """Groups that a page shows are read first if the deadline does not allow all."""
    for number in range(40):
        tree.commit(f"g{number:02}", "t", 0, b"5")
    tree.client.before = lambda _: clock.advance(1)
    for first in ([], ["g39", "none"]):
        read = ZookeeperGroups(tree.store, clock).read(TOPICS, Deadline(clock, 12), first)
        assert read.failure is not None
        assert ("g39" in read.groups) == bool(first)


def test_a_refused_list_of_groups_is_an_error(tree: GroupTree, clock: ManualClock) -> None:
    """A refused list of groups is an error, not an empty cluster."""
    tree.client.refuses = lambda path: path == "/consumers"
    with pytest.raises(RegistryError, match="access denied"):
        ZookeeperGroups(tree.store, clock).read(TOPICS, Deadline(clock, LIMIT_MS))


def test_owners_that_can_not_have_changed_are_not_read_again(
    tree: GroupTree, clock: ManualClock
) -> None:
    """Owners are read again only if their parent changed, or after a while; offsets always."""
    session = tree.join("g", "m", {"t": 1})
    for tp in (T0, T1):
        tree.own("g", *tp, "m-0", session)
        tree.commit("g", *tp, b"1")
    groups = ZookeeperGroups(tree.store, clock, owners_max_age_ms=1_000)

    def read_nodes() -> int:
        tree.client.read.clear()
        groups.read(TOPICS, Deadline(clock, LIMIT_MS))
        return tree.client.read["get"]

    assert [read_nodes(), read_nodes()] == [1 + 2 + 2, 1 + 2]
    tree.disown("g", *T1)
    assert [read_nodes(), read_nodes()] == [1 + 1 + 2, 1 + 2]
    clock.advance(1_000)
    assert read_nodes() == 1 + 1 + 2


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("own"), st.sampled_from("gh"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("disown"), st.sampled_from("gh"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("commit"), st.sampled_from("gh"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("delete"), st.sampled_from("gh"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("read"), st.just("g"), st.just(0), st.just(True)),
    ),
    max_size=30,
)


@given(STEPS)
@settings(max_examples=examples(150))
def test_a_reader_that_remembers_returns_the_same_as_a_new_one(
    steps: list[tuple[str, str, int, bool]],
) -> None:
    """Whatever happened meanwhile, a reader that remembers returns the same as a new one."""
    tree, clock = GroupTree(), ManualClock()
    groups = ZookeeperGroups(tree.store, clock)
    for number, (what, group, partition, other) in enumerate(steps):
        match what:
            case "own":
                tree.own(group, "s" if other else "t", partition, f"m-{number}")
            case "disown":
                tree.disown(group, "s" if other else "t", partition)
            case "commit":
                tree.commit(group, "t", partition, b"%d" % number)
            case "delete":
                tree.delete(f"/consumers/{group}" + ("" if other else "/owners/t"))
            case _:
                groups.read(TOPICS, Deadline(clock, LIMIT_MS))
    last = groups.read(TOPICS, Deadline(clock, LIMIT_MS))
    assert last.failure is None
    assert dict(last.groups) == read_once(tree, clock)


@pytest.mark.parametrize(
    ("refused", "whole"),
    [
        ("/consumers/g/ids", False),
        ("/consumers/g/ids/m", False),
        ("/consumers/g/owners", False),
        ("/consumers/g/owners/t", False),
        ("/consumers/g/owners/t/0", False),
        ("/consumers/g/offsets", True),
        ("/consumers/g/offsets/t", True),
        ("/consumers/g/offsets/t/0", True),
    ],
)
def test_a_group_whose_owners_are_refused_has_no_state(
    tree: GroupTree, clock: ManualClock, refused: str, whole: bool
) -> None:
    """A group whose members or owners are refused has an unknown state; offsets don't matter."""
    session = tree.join("g", "m", {"t": 1})
    for number in range(2):
        tree.own("g", "t", number, "m-0", session)
    tree.commit("g", "t", 0, b"5")
    tree.client.refuses = lambda path: path == refused
    group = read_once(tree, clock)["g"]
    assert (group.is_complete, bool(group.problems)) == (
        whole,
        refused != "/consumers/g/offsets/t/0",
    )
    state = zookeeper_state(group, TOPICS)
    assert state is (GroupState.STABLE if whole else GroupState.UNKNOWN)
    assert verify(group, TOPICS).sound is whole
    assert verify(group, TOPICS).faults == ()


def test_a_hostile_regex_is_a_problem_of_its_member_alone(
    tree: GroupTree, clock: ManualClock
) -> None:
    """A hostile regex is a problem of its member only, and takes no long time."""
    for name, regex in {"g_x": rb"(\\w+)+!", "g_y": b"((.{200}){200}){200}"}.items():
        data = b'{"version":1,"subscription":{"%s":1},"pattern":"white_list","timestamp":"1"}'
        tree.write(f"/consumers/g/ids/{name}", data % regex)
    tree.join("other", "other_a", {"t": 1})
    topics = {**TOPICS, "w" * 35: (0,)}
    read = ZookeeperGroups(tree.store, clock).read(topics, Deadline(clock, LIMIT_MS))
    known, unusable = read.groups["g"].members
    assert (known.streams, known.problem, known.regex) == ({}, None, r"(\w+)+!")
    assert unusable.streams == {}
    assert unusable.problem is not None
    assert "too large" in unusable.problem
    assert read.groups["other"].members[0].streams == {"t": 1}


def test_each_group_has_a_budget_for_its_regexes(
    tree: GroupTree, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each group has a budget for its regexes, and cheap ones are always expanded."""
    monkeypatch.setattr(zookeeper_groups, "FilterBudget", partial(FilterBudget, 1))
    data = b'{"version":1,"subscription":{"%s":1},"pattern":"white_list","timestamp":"1"}'
    regexes = {"m": b"(x?){200}.{99}", "n": b"((y?){99}){99}", "o": b".*"}
    for group_id in ("g", "h"):
        for member, regex in regexes.items():
            tree.write(f"/consumers/{group_id}/ids/{member}", data % (b"(?=.*w)" * 3_000 + regex))
        tree.write(f"/consumers/{group_id}/ids/p", data % b"w.*")
    topics = {**TOPICS, "w" * 200: (0,)}
    reader, deadline = ZookeeperGroups(tree.store, clock), Deadline(clock, LIMIT_MS)
    some = reader.read_some(["g", "h"], topics, deadline)
    for groups in (reader.read(topics, deadline).groups, some):
        for group_id in ("g", "h"):
            group = groups[group_id]
            assert group is not None
            first, *others, quick = group.members
            assert "against all topics" in str(first.problem)
            assert all("beside the other filters" in str(other.problem) for other in others)
            assert (list(quick.streams), quick.problem) == (["w" * 200], None)


def test_groups_whose_regexes_take_too_long_leave_others_unread(
    tree: GroupTree, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If regexes take too long, other groups are reported as unread and come first next time."""
    for name in "abc":
        tree.join(name, f"{name}_m", {"t": 1})
    status = group_nodes.group_status

    def slow(*arguments: Any) -> GroupStatus:
        clock.advance(LIMIT_MS // 2 + 1)
        return status(*arguments)

    monkeypatch.setattr(zookeeper_groups, "group_status", slow)
    reader = ZookeeperGroups(tree.store, clock)
    read = reader.read(TOPICS, Deadline(clock, LIMIT_MS))
    assert list(read.groups) == ["a", "b"]
    assert str(read.failure).startswith("1 of 3 groups were not read: ")
    assert next(iter(reader.read(TOPICS, Deadline(clock, LIMIT_MS)).groups)) == "c"


def test_topics_of_a_regex_keep_zookeepers_order(tree: GroupTree, clock: ManualClock) -> None:
    """A regex's topics keep ZooKeeper's order, which decides round-robin where hashes are equal."""
    data = b'{"version":1,"subscription":{".*":1},"pattern":"white_list","timestamp":"1"}'
    tree.write("/consumers/g/ids/g_x", data)
    read = ZookeeperGroups(tree.store, clock).read(
        {"BB": (0,), "Aa": (0,), "b": (0,)}, Deadline(clock, LIMIT_MS)
    )
    assert list(read.groups["g"].members[0].streams) == ["BB", "Aa", "b"]
