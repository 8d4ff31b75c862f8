"""Reads when topic nodes were created, to tell a topic from a former one of the same name.

ZooKeeper numbers its transactions in ascending order. A topic that is deleted and created again
gets another number (``czxid``), and nodes that were written for the former topic have a smaller
one. Brokers before 2.8 have no topic ids, so for them this is the only distinction.
"""

from collections.abc import Iterable

from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.paths import topic_path
from zkconsumer.zk.store import ZkStore


def topic_czxids(store: ZkStore, topics: Iterable[str]) -> dict[str, int]:
    """Return the transaction that created each topic's node; topics without one are left out.

    Args:
        store: the client.
        topics: their names.

    Raises:
        RegistryError: no response in time.
        SessionLost: the session ended meanwhile.
    """
    legal = [topic for topic in dict.fromkeys(topics) if is_topic_name(topic)]
    stats = store.exists_many([topic_path(topic) for topic in legal]) if legal else []
    return {topic: stat.czxid for topic, stat in zip(legal, stats, strict=True) if stat is not None}
