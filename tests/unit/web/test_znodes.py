"""The znodes of a group: which are shown, and which never are."""

import pytest

from tests.support.group_tree import GroupTree
from zkconsumer.web.znodes import CHILDREN_SHOWN, DATA_SHOWN, is_below, read_nodes

ROOT = "/consumers/g"
MEMBER = "g_h-1400000000000-1a2b3c4d"


def test_a_node_is_shown_with_its_children() -> None:
    """A node is shown with its children: data, session, and the number of their own children."""
    tree = GroupTree()
    session = tree.join("g", MEMBER, {"t": 1})
    tree.own("g", "t", 0, f"{MEMBER}-0", session)
    root, *below = read_nodes(tree.store, "g", ROOT)
    assert root.path == ROOT
    assert root.ephemeral_owner is None
    assert root.children_count == len(below)
    assert {view.path for view in below} >= {f"{ROOT}/ids", f"{ROOT}/owners"}
    assert {view.path: view.children_count for view in below}[f"{ROOT}/ids"] == 1
    _, member = read_nodes(tree.store, "g", f"{ROOT}/ids")
    assert member.data is not None
    assert '"subscription"' in member.data
    assert member.size == len(member.data)
    assert member.ephemeral_owner is not None
    assert member.ephemeral_owner.startswith("session 0x")


def test_large_data_and_long_lists_are_truncated() -> None:
    """Large data and long lists of children are truncated, and bytes that are no text replaced."""
    tree = GroupTree()
    tree.write(f"{ROOT}/offsets/t/0", b"\xff" * (DATA_SHOWN + 1))
    for number in range(CHILDREN_SHOWN + 3):
        tree.write(f"{ROOT}/ids/{number:04}", b"")
    node = read_nodes(tree.store, "g", f"{ROOT}/offsets/t/0")[0]
    assert node.truncated
    assert node.data == "�" * DATA_SHOWN
    ids, *below = read_nodes(tree.store, "g", f"{ROOT}/ids")
    assert (ids.children_count, len(below)) == (CHILDREN_SHOWN + 3, CHILDREN_SHOWN)


@pytest.mark.parametrize(
    "path",
    [
        "/consumers/g2",
        "/consumers",
        "/",
        "",
        "consumers/g",
        "/consumers/g/../h",
        "/consumers/g/./ids",
        "/consumers/g//ids",
        "/consumers/g/",
        "/brokers/ids/0",
    ],
)
def test_only_nodes_of_the_group_are_shown(path: str) -> None:
    """A path outside of the group is refused, whatever the address has."""
    assert not is_below("g", path)
    [view] = read_nodes(GroupTree().store, "g", path)
    assert view.problem is not None
    assert view.data is None


def test_a_missing_node_is_reported() -> None:
    """A missing node is reported, as of a group that has gone meanwhile."""
    [view] = read_nodes(GroupTree().store, "nobody", "/consumers/nobody")
    assert view.problem == "there is no such node"


def test_what_zookeeper_refuses_is_reported() -> None:
    """What ZooKeeper refuses is reported, and odd characters are refused before they get there."""
    [view] = read_nodes(GroupTree().store, "g", f"{ROOT}/a\x00b")
    assert view.problem is not None
