"""The results of a group's registry: frozen values, expected conflicts included."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.store import Watch


@dataclass(frozen=True, slots=True)
class RegistrationConflict:
    """Another session holds the member's node.

    Usually it is the session of our own process that died a moment ago: the node is deleted when
    that session ends.

    Attributes:
        session_id: the session that owns the node; 0 if the node is persistent, so that no
            session's end deletes it.
    """

    session_id: int


@dataclass(frozen=True, slots=True)
class Owner:
    """A partition's owner: the text of the owner node, and the session that created it.

    ``session_id`` is 0 for a persistent node, which no consumer creates.
    """

    thread_id: str
    session_id: int


@dataclass(frozen=True, slots=True)
class ClaimConflict:
    """Nothing was claimed.

    Attributes:
        held: partitions that others hold, with their owners; a sample if there are many. Empty if
            owner nodes came and went faster than they could be read.
    """

    held: Mapping[TopicPartition, Owner]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWatches:
    """The watches of a group; each is a ``Watch`` (one-shot).

    Attributes:
        members: fires when a member comes or goes.
        topics: fires when a topic that a member subscribes to is created, changed or deleted.
        topic_list: fires when any topic of the cluster comes or goes (for wildcards); None: no
            watch.
        brokers: fires when a broker comes or goes; None: no watch.
    """

    members: Watch
    topics: Watch
    topic_list: Watch | None = None
    brokers: Watch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerList:
    """The registered brokers, sorted by id, and the registrations that can't be used.

    ``malformed`` has the reasons by broker id; -1 stands for names that are not numbers.
    ``old_ids``: brokers that registered like those of 0.8 or 0.9; ``are_old``: whether all did.
    """

    brokers: tuple[Broker, ...]
    malformed: Mapping[int, str]
    are_old: bool = False
    old_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSnapshot:
    """The input of a rebalance.

    Attributes:
        members: every readable registration by consumer id, sorted by id as text.
        malformed_members: the reason and the path of each registration that can't be used, by
            consumer id. Scala members fail on them.
        unreadable_by_scala: why Scala members of the group fail on some of ``members``.
        brokers: the brokers that can be reached, sorted by id.
        malformed_brokers: why other brokers can't be used, see ``BrokerList``.
        topics: the partition ids, sorted as numbers, of every topic that any member subscribes to;
            none for a topic that is missing or malformed.
        malformed_topics: why a topic's node can't be read.
        all_topics: the names of all topics of the cluster, in the order of the server's list.
        topic_czxids: the transaction that created the node of each existing topic of ``topics``: a
            topic that is deleted and created again gets another one.
    """

    members: Mapping[str, Registration]
    malformed_members: Mapping[str, str]
    unreadable_by_scala: Mapping[str, str]
    brokers: tuple[Broker, ...]
    malformed_brokers: Mapping[int, str]
    topics: Mapping[str, tuple[int, ...]]
    malformed_topics: Mapping[str, str]
    all_topics: tuple[str, ...]
    topic_czxids: Mapping[str, int] = field(default_factory=dict)
