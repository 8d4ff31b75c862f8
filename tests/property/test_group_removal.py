"""Whatever nodes a group has, a deletion removes what it should, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.cli.formats.group_command import Deletion
from zkconsumer.cli.groups.removal import GroupRemoval

TOPICS = st.sampled_from("tuv")
NODES = st.sets(st.tuples(st.sampled_from(["owners", "offsets"]), TOPICS, st.integers(0, 3)))


def nodes_of(store: MemoryZkStore, path: str) -> set[str]:
    """Return a node and all nodes below it."""
    names = store.children_many([path])[0]
    if names is None:
        return set()
    return {path}.union(*(nodes_of(store, f"{path}/{name}") for name in names))


@given(nodes=NODES, topic=TOPICS, has_ids=st.booleans(), is_live=st.booleans())
def test_a_topic_is_deleted_from_a_group(
    nodes: set[tuple[str, str, int]], topic: str, *, has_ids: bool, is_live: bool
) -> None:
    """A live group keeps all nodes; with its last topic the group itself is deleted."""
    server = MemoryZkServer()
    store = server.connect()
    paths = {f"/consumers/g/{kind}/{name}/{number}": b"1" for kind, name, number in nodes}
    store.set_or_create_many({**paths, "/consumers/h/offsets/t/0": b"1"})
    if has_ids:
        store.set_or_create_many({"/consumers/g/ids": b""})
    if is_live:
        server.connect().create("/consumers/g/ids/a", b"", ephemeral=True)
    before = nodes_of(store, "/consumers")
    outcome = GroupRemoval(store, "g").topic(topic)
    gone = before - nodes_of(store, "/consumers")
    has = {name for _, name, _ in nodes}
    if is_live:
        assert (outcome, gone) == (Deletion.ACTIVE, set())
    elif not nodes and not has_ids:
        assert (outcome, gone) == (Deletion.NO_GROUP, set())
    elif has == {topic}:
        assert gone == {node for node in before if node.startswith("/consumers/g")}
    else:
        folders = tuple(f"/consumers/g/{kind}/{topic}" for kind in ("owners", "offsets"))
        assert gone == {node for node in before if node.startswith(folders)}
