"""A process that forks while it consumes: the child's calls raise, the parent reads on."""

import gc
from collections.abc import Callable

import pytest

from tests.support.clusters import fresh_name
from tests.support.forks import in_forked_child
from tests.support.members import settings_for
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.errors import ConsumerForked
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def refused(*calls: Callable[[], object]) -> str:
    """Return "refused" for each call that raises ``ConsumerForked``, else its result."""
    message: list[str] = []
    for call in calls:
        try:
            message.append(f"answered {call()!r}")
        except ConsumerForked:
            message.append("refused")
    gc.collect()
    return " ".join(message)


def test_a_child_is_refused_everything_and_its_parent_notices_nothing(cluster: Sandbox) -> None:
    """The child iterates, commits, joins, shuts down; then the parent reads, commits and leaves."""
    topic, group = fresh_name("forked"), fresh_name("group")
    cluster.create_topic(topic, partitions=1)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, [b"%d" % number for number in range(10)])
    tree = ZkTree(cluster)
    with ZookeeperConsumerConnector(settings_for(cluster, group)) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        got = [next(stream).offset for _ in range(3)]
        session = connector._parts.context.store.session_id
        for _ in range(3):
            message = in_forked_child(
                lambda: refused(
                    lambda: next(stream),
                    connector.commit_offsets,
                    lambda: connector.create_message_streams({topic: 1}),
                    connector.shutdown,
                )
            )
            assert message == "refused refused refused refused"
            got += [next(stream).offset, next(stream).offset]
            assert connector.commit_offsets() == 1
            assert tree.offsets(group) == {tp: len(got)}
        write(cluster, tp, [b"later"])
        got += [next(stream).offset, next(stream).offset]
        assert connector._parts.context.store.session_id == session
        assert list(tree.owners(group, topic)) == [tp.partition]
    assert got == list(range(11))
    assert tree.members(group) == []
    assert tree.owners(group, topic) == {}
