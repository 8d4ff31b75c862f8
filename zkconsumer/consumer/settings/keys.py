"""All settings of a ``KafkaConsumer`` that are texts, numbers or booleans, in one table.

docs/poll-api.md is generated from it. Names and defaults are those of kafka-python 3 and of Kafka's
Java consumer 3; where those two differ, or we differ from both, the description says so.
"""

import re
from collections.abc import Mapping

from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.config_security import SECURITY_KEYS
from zkconsumer.config_spec import ConfigKey
from zkconsumer.consumer.settings.fetch_keys import FETCH, NETWORK
from zkconsumer.consumer.settings.inert_keys import INERT
from zkconsumer.errors import ConfigError
from zkconsumer.net.bootstrap_servers import parse_bootstrap

_LONGEST_STRING = (1 << 15) - 1
_STATIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def split_list(text: str) -> tuple[str, ...]:
    """Split a text at its commas."""
    return tuple(part for item in text.split(",") if (part := item.strip()))


def _legal_servers(text: str) -> bool:
    try:
        return bool(parse_bootstrap("", text))
    except ConfigError:
        return False


def _legal_static_name(text: str) -> bool:
    return bool(_STATIC_NAME.fullmatch(text)) and text not in (".", "..")


def _legal_string(text: str) -> bool:
    # Requests can't encode longer texts: every lookup of the coordinator would fail.
    try:
        return len(text.encode()) <= _LONGEST_STRING
    except UnicodeEncodeError:
        return False


def _legal_strategies(text: str) -> bool:
    names = split_list(text)
    return bool(names) and len(set(names)) == len(names) and STRATEGIES.keys() >= set(names)


_WHERE = (
    ConfigKey(
        "bootstrap.servers",
        "text",
        default="localhost:9092",
        accepts="str | Sequence[str] | None",
        legal=_legal_servers,
        legal_text="host1:port1,host2:port2 (ports from 1 to 65535, default 9092; a leading "
        "protocol:// is ignored), or a list of them",
        since="0.9.0",
    ).means(
        "The brokers to contact first; the others are found through them. Not used with "
        "`zookeeper_connect`, where ZooKeeper knows the brokers."
    ),
    ConfigKey(
        "zookeeper.connect",
        "text",
        legal=lambda text: bool(text.strip()),
        legal_text="host1:port1,host2:port2, optionally with one chroot such as /kafka at the end",
        since="zkconsumer",
    ).means(
        "Join a group in ZooKeeper, for brokers of 0.8 and next to consumers of "
        "0.8. All settings of [ZooKeeper consumers](configuration.md) can then be given, too."
    ),
    ConfigKey("client.id", "text", default="zkconsumer", since="0.9.0").means(
        "Names this client in requests: it shows up in the broker's logs, metrics and quotas, "
        "and in what `kafka-consumer-groups` prints."
    ),
    ConfigKey("client.rack", "text", default="", since="2.4.0").means(
        "The rack of this client, so that brokers may send it to a near replica (KIP-392)."
    ),
)

_GROUP = (
    ConfigKey(
        "group.id",
        "text",
        legal=_legal_string,
        legal_text="text of at most 32767 bytes in UTF-8",
        since="0.9.0",
    ).means(
        "The group that shares the topics, and whose offsets are stored. Without one there are "
        "no commits, and partitions are chosen with `assign()`. The empty string is a group that "
        "brokers may refuse."
    ),
    ConfigKey(
        "group.instance.id",
        "text",
        legal=_legal_static_name,
        legal_text="1 to 249 letters, digits, dot, underscore and dash",
        since="2.3.0",
    ).means(
        "Makes a static member (KIP-345): one restarted within `session_timeout_ms` "
        "gets its partitions back without a rebalance. No two live members may share it."
    ),
    ConfigKey(
        "session.timeout.ms",
        "int",
        default=45_000,
        derived_text="45000 (brokers before 0.10.1: 30000)",
        low=1,
        since="0.9.0",
    ).means(
        "After this time without a heartbeat the coordinator reassigns the partitions. The "
        "value must lie between the broker's `group.min.session.timeout.ms` and "
        "`group.max.session.timeout.ms`."
    ),
    ConfigKey("heartbeat.interval.ms", "int", default=3_000, low=1, since="0.9.0").means(
        "The interval of heartbeats to the coordinator: at most a third of "
        "`session_timeout_ms`, so that two may be lost."
    ),
    ConfigKey("max.poll.interval.ms", "int", default=300_000, low=1, since="0.10.1").means(
        "A member that does not poll for this long leaves its group: it counts as stuck. Its "
        "next poll joins again, and reports it."
    ),
    ConfigKey(
        "partition.assignment.strategy",
        "text",
        default="range,cooperative-sticky",
        accepts="str | Sequence[str | type] | None",
        legal=_legal_strategies,
        legal_text=f"some of {', '.join(STRATEGIES)}, each once; or kafka-python's assignor "
        "classes",
        since="0.9.0",
    ).means(
        "How the leader assigns partitions, the preferred strategy first; the group uses one that "
        "all its members support. Only if every given one is cooperative do members keep, during "
        "a rebalance, the partitions that do not move (KIP-429). kafka-python's own default is "
        "range and roundrobin."
    ),
)

_OFFSETS = (
    ConfigKey(
        "auto.offset.reset",
        "choice",
        default="latest",
        choices=("earliest", "latest", "none"),
        synonyms={"smallest": "earliest", "largest": "latest"},
        any_case=True,
        since="0.9.0",
    ).means(
        "Where to start if no offset is committed, or if the log no longer contains it; "
        "with `none` poll raises instead."
    ),
    ConfigKey(
        "auto.offset.reset.new.partitions",
        "choice",
        default="earliest",
        choices=("earliest", "latest"),
        any_case=True,
        since="zkconsumer",
    ).means(
        "Where `latest` starts in a partition created after this consumer started, in a new "
        "topic or an old one: at its beginning, so that nothing is lost, as in Spark's source; "
        "or, as in Java and kafka-python, after the records written before it was discovered."
    ),
    ConfigKey("enable.auto.commit", "bool", default=True, since="0.9.0").means(
        "Whether poll commits, every `auto_commit_interval_ms`, what earlier polls returned. "
        "A rebalance that revokes partitions commits, too, and so does `close()`."
    ),
    ConfigKey("auto.commit.interval.ms", "int", default=5_000, low=0, since="0.9.0").means(
        "The time between two commits of `enable_auto_commit`."
    ),
    ConfigKey(
        "isolation.level",
        "choice",
        default="read_uncommitted",
        accepts='Literal["read_uncommitted", "read_committed"] | IntEnum | None',
        choices=("read_uncommitted", "read_committed"),
        any_case=True,
        since="0.11.0",
    ).means(
        "With `read_committed`, records of aborted transactions are left out, and those of "
        "open transactions wait."
    ),
)

_POLL = (
    ConfigKey("max.poll.records", "int", default=500, low=1, since="0.10.0").means(
        "The most records that one poll returns; further fetched ones wait for the next poll."
    ),
    ConfigKey("consumer.timeout.ms", "int", default=-1, low=-1, since="kafka-python").means(
        "Iteration ends after this time without a record; -1 (or `float('inf')`): never."
    ),
    ConfigKey("exclude.internal.topics", "bool", default=True, since="0.9.0").means(
        "Whether patterns leave out topics that belong to the cluster itself."
    ),
    ConfigKey("allow.auto.create.topics", "bool", default=True, since="2.3.0").means(
        "Whether the metadata request for a subscribed or assigned topic may create it, if "
        "the brokers have `auto.create.topics.enable`. If so, subscribing to a misspelt name "
        "creates a topic, as in Java and kafka-python. `False` prevents that, even on brokers "
        "before 0.11, where those clients can't."
    ),
    ConfigKey("default.api.timeout.ms", "int", default=60_000, low=1, since="2.0.0").means(
        "How long a call without `timeout_ms` may take: commit, committed, position, close, and "
        "the look-ups of offsets and topics."
    ),
)

KEYS: tuple[ConfigKey, ...] = (
    *_WHERE,
    *_GROUP,
    *_OFFSETS,
    *_POLL,
    *FETCH,
    *NETWORK,
    *SECURITY_KEYS,
    *INERT,
)

BY_KEY: Mapping[str, ConfigKey] = {spec.key: spec for spec in KEYS}
