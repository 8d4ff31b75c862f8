"""Identifies recreated topics by a creation text, which is stored with offsets. Pure.

ZooKeeper numbers the transaction that created a topic's node (``czxid:1a2b``); brokers from 2.8 on
give topics ids (``id:...``). Texts of different kinds can't be compared.
"""

from collections.abc import Mapping

Creations = Mapping[str, str]
"""The creation of each topic; topics with an unknown creation are missing."""


def created_again(before: Creations, now: Creations) -> frozenset[str]:
    """Return the topics that were certainly deleted and created again."""
    return frozenset(
        topic
        for topic, creation in before.items()
        if topic in now
        and now[topic] != creation
        and now[topic].partition(":")[0] == creation.partition(":")[0]
    )
