"""What the registry of a group answers with: frozen values, expected conflicts among them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.store import Watch


@dataclass(frozen=True, slots=True)
class Registered:
    """The member is registered, by this session."""

    session_id: int


@dataclass(frozen=True, slots=True)
class RegistrationConflict:
    """Another session holds the member's node.

    Mostly it is our own, of a process that died a moment ago: the node goes with that session.

    Attributes:
        session_id: the session that owns the node; 0 when the node is persistent, so that it will
            not go by itself.
        age_ms: how long ago the node was made, by the server's clock against ours; at least 0.
    """

    session_id: int
    age_ms: int


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns a partition: the text of the owner node, and the session that made it.

    ``session_id`` is 0 for a persistent node, which no consumer makes.
    """

    thread_id: str
    session_id: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """Every partition asked for is ours."""


@dataclass(frozen=True, slots=True)
class ClaimConflict:
    """Nothing was claimed.

    Attributes:
        held: partitions that somebody else holds, and who; of many only some are given. Empty when
            owner nodes came and went faster than they could be read.
    """

    held: Mapping[TopicPartition, Owner]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWatches:
    """Whom to tell of changes behind a group's back; every one is a ``Watch`` (one-shot).

    Attributes:
        members: a member came or went.
        topics: a topic that some member subscribes to was created, changed or deleted.
        topic_list: a topic came or went, of all the cluster's (for wildcards); None for no watch.
        brokers: a broker came or went; None for no watch.
    """

    members: Watch
    topics: Watch
    topic_list: Watch | None = None
    brokers: Watch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerList:
    """The registered brokers, sorted by id, and the registrations that can't be used.

    ``malformed`` says why, by broker id; -1 stands for names that are no number. ``old_ids``:
    those that registered as brokers of 0.8 or 0.9 do; ``are_old``: all of them did.
    """

    brokers: tuple[Broker, ...]
    malformed: Mapping[int, str]
    are_old: bool = False
    old_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSnapshot:
    """All that a rebalance computes from.

    Attributes:
        members: every readable registration by consumer id, sorted by id as text.
        malformed_members: why the others can't be used, and where they are. Scala members fail on
            them.
        unreadable_by_scala: of those in ``members``, why Scala members of the group fail on them.
        brokers: the brokers that can be reached, sorted by id.
        malformed_brokers: why others can't be used, see ``BrokerList``.
        topics: the partition ids, sorted as numbers, of every topic that any member subscribes to;
            none for a topic that is missing or malformed.
        malformed_topics: why a topic's node can't be read.
        all_topics: the names of all topics of the cluster, in the order in which the server lists
            them.
        topic_czxids: the transaction that created the node of each of ``topics`` that is there: a
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
