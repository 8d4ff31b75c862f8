"""Defines every path that the consumer reads or writes, below the chroot. Pure.

Source: Kafka 0.8.2.2 ``ZkUtils``, ``ZKGroupDirs``, ``ZKGroupTopicDirs``. Group ids and topic names
are path segments; a name that can't be one is refused here, before ZooKeeper sees it.
"""

import re
from dataclasses import dataclass

from zkconsumer.digits import is_decimal
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition

_MAX_DIGITS = 10

BROKER_IDS = "/brokers/ids"
BROKER_TOPICS = "/brokers/topics"
CONSUMERS = "/consumers"

# ZooKeeper refuses these in a path: control characters, surrogates, private use, specials.
_REFUSED = re.compile("[/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")
# Most paths are plain; this recognises them at once.
_PLAIN_PATH = re.compile(r"(?:/[a-zA-Z0-9_-][a-zA-Z0-9._-]*)+")


def is_segment(name: str) -> bool:
    """Return whether ZooKeeper accepts ``name`` as one part of a path."""
    return bool(name) and name not in {".", ".."} and _REFUSED.search(name) is None


def is_path(path: str) -> bool:
    """Return whether ZooKeeper accepts ``path`` as an absolute path."""
    if path == "/" or _PLAIN_PATH.fullmatch(path):
        return True
    return path.startswith("/") and all(is_segment(part) for part in path[1:].split("/"))


def is_number(name: str) -> bool:
    """Return whether a node is named by a number, such as that of a partition."""
    return is_decimal(name, _MAX_DIGITS)


def parent_of(path: str) -> str:
    """Return the path of the parent; the root's parent is the root."""
    return path.rpartition("/")[0] or "/"


def ancestors_of(path: str) -> list[str]:
    """Return the paths above ``path``, from the top down, without the root."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: depth + 1]) for depth in range(len(parts))]


def broker_path(broker_id: str | int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    """Return the path of a topic's partitions and their replicas."""
    return f"{BROKER_TOPICS}/{topic}"


@dataclass(frozen=True, slots=True)
class GroupPaths:
    """The paths of one consumer group.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    group_id: str

    def __post_init__(self) -> None:
        if not is_segment(self.group_id):
            raise ConfigError(
                f"group.id {self.group_id!r} can't be the name of a ZooKeeper node: "
                "use letters, digits, '.', '_' and '-' (and not '.' or '..' alone)"
            )

    @property
    def root(self) -> str:
        """The group's own node."""
        return f"{CONSUMERS}/{self.group_id}"

    @property
    def ids(self) -> str:
        """The parent of the members' registrations."""
        return f"{self.root}/ids"

    def member(self, consumer_id: str) -> str:
        """Return the path of a member's registration.

        Raises:
            ConfigError: the consumer id can't be part of a path.
        """
        if not is_segment(consumer_id):
            raise ConfigError(
                f"consumer.id makes {consumer_id!r}, which can't be the name of a ZooKeeper node: "
                "use letters, digits, '.', '_' and '-'"
            )
        return f"{self.ids}/{consumer_id}"

    def owners(self, topic: str) -> str:
        """Return the parent of the owner nodes of a topic's partitions."""
        return f"{self.root}/owners/{topic}"

    def owner(self, partition: TopicPartition) -> str:
        """Return the path of a partition's owner node."""
        return f"{self.root}/owners/{partition.topic}/{partition.partition}"

    def offsets(self, topic: str) -> str:
        """Return the parent of the nodes that hold a topic's offsets."""
        return f"{self.root}/offsets/{topic}"

    def offset(self, partition: TopicPartition) -> str:
        """Return the path of a partition's committed offset."""
        return f"{self.root}/offsets/{partition.topic}/{partition.partition}"
