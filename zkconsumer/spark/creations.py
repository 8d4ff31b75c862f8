"""Identify recreated topics by a creation text, kept beside offsets. Pure.

ZooKeeper numbers the transaction that created a topic's node (``czxid:1a2b``); brokers from 2.8 on
give topics ids (``id:...``). Two texts of different kinds say nothing of each other.
"""

from collections.abc import Mapping

Creations = Mapping[str, str]
"""By topic; one that is not known is not there."""


def created_again(before: Creations, now: Creations) -> frozenset[str]:
    """Return the topics that were certainly deleted and created again."""
    return frozenset(
        topic
        for topic, creation in before.items()
        if topic in now
        and now[topic] != creation
        and now[topic].partition(":")[0] == creation.partition(":")[0]
    )
