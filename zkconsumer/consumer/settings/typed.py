"""Keyword arguments of ``KafkaConsumer``, for type checkers and editors.

Printed by ``make generated`` from the tables of this package and of ``zkconsumer.config_keys``; a
test fails when it is stale.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from ssl import SSLContext
from typing import Literal

from zkconsumer.config_typed import ZookeeperGroupSettings
from zkconsumer.consumer.settings.objects import AnyDeserializer, CommitCallback, TokenProvider


class KafkaConsumerSettings(ZookeeperGroupSettings, total=False):
    """Settings of a ``KafkaConsumer``, by their keys with underscores.

    None counts as not given. A function that passes settings on takes
    ``**settings: Unpack[KafkaConsumerSettings]``.

    Example:
        >>> settings: KafkaConsumerSettings = {"group_id": "billing", "client_id": "b1"}
        >>> consumer = KafkaConsumer("clicks", **settings)  # doctest: +SKIP
    """

    bootstrap_servers: str | Sequence[str] | None
    """Brokers to start from; the others are found through them. Not used with `zookeeper_connect`,
    where ZooKeeper knows the brokers.

    Default: 'localhost:9092'. Allowed: host1:port1,host2:port2 (ports from 1 to 65535, 9092 where
    none is given; a protocol and :// in front are passed over), or a list of such.
    """

    zookeeper_connect: str | None
    """Be a member of a group in ZooKeeper, for brokers of 0.8 and beside consumers of 0.8. All
    settings of [ZooKeeper consumers](configuration.md) can then be given, too.

    Allowed: host1:port1,host2:port2, with one chroot such as /kafka at the end if wanted.
    """

    client_id: str | None
    """Names this client in requests: it shows up in the broker's logs, metrics and quotas, and in
    what `kafka-consumer-groups` prints.

    Default: 'zkconsumer'.
    """

    client_rack: str | None
    """The rack of this client, so that brokers may send it to a near replica (KIP-392).

    Default: ''.
    """

    group_id: str | None
    """The group to share the topics with, and to keep offsets for. Without one there are no
    commits, and partitions are chosen with `assign()`. The empty text is a group that brokers may
    refuse.

    Allowed: text of at most 32767 bytes in UTF-8.
    """

    group_instance_id: str | None
    """Makes a static member (KIP-345): one that is restarted within `session_timeout_ms` gets its
    partitions back without a rebalance. No two live members may share it.

    Allowed: 1 to 249 letters, digits, dot, underscore and dash.
    """

    session_timeout_ms: float | None
    """After this time without a heartbeat the coordinator reassigns the partitions. It must lie
    between the broker's `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.

    Default: 45000 (brokers before 0.10.1: 30000). Allowed: an integer of at least 1.
    """

    heartbeat_interval_ms: float | None
    """The interval of heartbeats to the coordinator: at most a third of `session_timeout_ms`, so
    that two may get lost.

    Default: 3000. Allowed: an integer of at least 1.
    """

    max_poll_interval_ms: float | None
    """A member that does not poll for this long leaves its group: it counts as stuck. Its next poll
    joins again, and reports it.

    Default: 300000. Allowed: an integer of at least 1.
    """

    partition_assignment_strategy: str | Sequence[str | type] | None
    """How the leader shares out, the preferred way first; the group takes one that all its members
    know. Only where every one given is cooperative does a rebalance leave alone what does not move
    (KIP-429). kafka-python's own default is range and roundrobin.

    Default: 'range,cooperative-sticky'. Allowed: different ones of range, roundrobin, sticky,
    cooperative-sticky; or kafka-python's assignor classes.
    """

    auto_offset_reset: Literal["earliest", "latest", "none", "smallest", "largest"] | None
    """Where to read where no offset is committed, or the log does not have it any more; with `none`
    poll raises instead.

    Default: 'latest'. Allowed: earliest or latest or none (smallest means earliest) (largest means
    latest).
    """

    auto_offset_reset_new_partitions: Literal["earliest", "latest"] | None
    """Where `latest` begins in a partition that was created after this consumer started, of a new
    topic or an old one: at its beginning, so that nothing is lost, as Spark's source does; or, as
    Java and kafka-python do, after what was written before it was discovered.

    Default: 'earliest'.
    """

    enable_auto_commit: bool | None
    """Whether poll commits, every `auto_commit_interval_ms`, what earlier polls handed out; and so
    do a rebalance that takes partitions away, and `close()`.

    Default: True.
    """

    auto_commit_interval_ms: float | None
    """The time between two of those commits.

    Default: 5000. Allowed: an integer of at least 0.
    """

    isolation_level: Literal["read_uncommitted", "read_committed"] | IntEnum | None
    """With `read_committed` records of aborted transactions are left out, and those of open ones
    wait.

    Default: 'read_uncommitted'.
    """

    max_poll_records: int | None
    """The most records that one poll hands out; what was fetched with them waits for the next.

    Default: 500. Allowed: an integer of at least 1.
    """

    consumer_timeout_ms: float | None
    """Iteration ends when no record came for this long; -1 (or `float('inf')`): never.

    Default: -1. Allowed: an integer of at least -1.
    """

    exclude_internal_topics: bool | None
    """Whether patterns leave out topics that belong to the cluster itself.

    Default: True.
    """

    allow_auto_create_topics: bool | None
    """Whether the metadata request for a subscribed or assigned topic may create it, if the brokers
    have `auto.create.topics.enable`. So a misspelt name creates a topic, as in Java and
    kafka-python; with `False` it does not, even on brokers before 0.11, where those can't prevent
    it.

    Default: True.
    """

    default_api_timeout_ms: float | None
    """How long calls may take that are given no `timeout_ms`: commit, committed, position, close,
    and what asks for offsets and topics.

    Default: 60000. Allowed: an integer of at least 1.
    """

    fetch_min_bytes: int | None
    """A broker waits until it has this many bytes...

    Default: 1. Allowed: an integer of at least 0.
    """

    fetch_max_wait_ms: float | None
    """... or until this time is over. Less than `request_timeout_ms`.

    Default: 500. Allowed: an integer of at least 0.
    """

    fetch_max_bytes: int | None
    """The most that one broker sends in one answer, and the most that waits in memory for each
    broker.

    Default: 52428800. Allowed: an integer of at least 1.
    """

    max_partition_fetch_bytes: int | None
    """The most of each partition in one answer. A larger record comes all the same: brokers from
    0.10.1 on send it whole, and with older ones the fetch grows.

    Default: 1048576. Allowed: an integer of at least 1.
    """

    fetch_message_growth_max_bytes: int | None
    """... up to here. Beyond it poll raises `MessageTooLarge`.

    Default: 104857600, or `max_partition_fetch_bytes` where that is larger. Allowed: an integer of
    at least 1.
    """

    enable_incremental_fetch_sessions: bool | None
    """Whether requests to brokers from 1.1 on name only what changed since the last fetch
    (KIP-227).

    Default: True.
    """

    check_crcs: bool | None
    """Whether checksums are held against the bytes. They always are: `False` is noted in the log at
    debug level, and does nothing.

    Default: True.
    """

    request_timeout_ms: float | None
    """How long a broker may take to answer. After 2 s of silence (a fifteenth of it where that is
    less) what only reads is sent once more, over a second connection.

    Default: 30000. Allowed: an integer of at least 1.
    """

    bootstrap_timeout_ms: float | None
    """A consumer connects when it is made: how long it waits for a broker that answers, before it
    raises `NoBrokersAvailable`. With 0 it connects when it is used; so it does with
    `zookeeper_connect`.

    Default: 30000. Allowed: an integer of at least 0.
    """

    socket_connection_setup_timeout_ms: float | None
    """How long connecting to a broker may take.

    Default: 10000. Allowed: an integer of at least 1.
    """

    retry_backoff_ms: float | None
    """The pause after a failure; it doubles with each one that follows...

    Default: 100. Allowed: an integer of at least 0.
    """

    retry_backoff_max_ms: float | None
    """... up to this one.

    Default: 1000. Allowed: an integer of at least 0.
    """

    metadata_max_age_ms: float | None
    """How often to ask which topics and partitions there are. What moves is noticed at once; new
    partitions, and new topics of a pattern, within this time.

    Default: 300000. Allowed: an integer of at least 1.
    """

    receive_buffer_bytes: int | None
    """The receive buffer (SO_RCVBUF) of sockets; 0 or -1 leaves it to the system, which lets it
    grow with what comes.

    Default: -1. Allowed: an integer of at least -1.
    """

    receive_message_max_bytes: int | None
    """The largest answer taken from a broker. Brokers of 0.8 to 0.10.0 bound the parts of an answer
    only, so it may be as many times `max_partition_fetch_bytes` as there are partitions.

    Default: 1073741824. Allowed: an integer of at least 1000.
    """

    metrics_enabled: bool | None
    """Whether `metrics()` gives numbers; else it gives None.

    Default: True.
    """

    metric_group_prefix: str | None
    """What the names of groups in `metrics()` begin with.

    Default: 'consumer'.
    """

    metrics_num_samples: int | None
    """Over how many windows of time `metrics()` counts rates, averages and maxima...

    Default: 2. Allowed: an integer of at least 1.
    """

    metrics_sample_window_ms: float | None
    """... and how long each of them is.

    Default: 30000. Allowed: an integer of at least 1.
    """

    api_version: object
    """Has no effect here. Versions are asked for; `config["api_version"]` is the release that was
    found when the consumer was made, `(2, 8)` say. A consumer that is given one connects when it is
    used, not when it is made, as in kafka-python.
    """

    api_version_auto_timeout_ms: object
    """Has no effect here. See `bootstrap_timeout_ms`."""

    reconnect_backoff_ms: object
    """Has no effect here. See `retry_backoff_ms`."""

    reconnect_backoff_max_ms: object
    """Has no effect here. See `retry_backoff_max_ms`."""

    socket_connection_setup_timeout_max_ms: object
    """Has no effect here. Time-outs don't grow."""

    connections_max_idle_ms: object
    """Has no effect here. A connection that the broker closed is opened again when it is needed.
    More than `request_timeout_ms` where both are given, as in kafka-python.
    """

    max_in_flight_requests_per_connection: object
    """Has no effect here. The order of requests is ours."""

    send_buffer_bytes: object
    """Has no effect here. A consumer sends little."""

    socket_options: object
    """Has no effect here. Sockets don't delay, and are kept alive."""

    client_dns_lookup: object
    """Has no effect here. All addresses of a name are tried."""

    sock_chunk_bytes: object
    """Has no effect here. Answers are read whole."""

    sock_chunk_buffer_count: object
    """Has no effect here. As above."""

    legacy_iterator: object
    """Has no effect here. There is one iterator."""

    metric_reporters: object
    """Has no effect here. `metrics()` gives the numbers."""

    selector: object
    """Has no effect here. Threads wait in sockets here."""

    net: object
    """Has no effect here. As above."""

    kafka_client: object
    """Has no effect here. As above."""

    key_deserializer: AnyDeserializer | None
    """What `record.key` gives; called when that is asked for. Null is given to it as None, and
    stays None where it can't take that (`TypeError`, `AttributeError`).
    """

    value_deserializer: AnyDeserializer | None
    """What `record.value` gives."""

    ssl_context: SSLContext | None
    """Takes the place of all the other settings that begin with `ssl_`."""

    sasl_oauth_token_provider: Callable[[], str] | TokenProvider | None
    """With `OAUTHBEARER`: asked at each connection, and when the broker wants to know again; it may
    be asked by several threads at a time.
    """

    default_offset_commit_callback: CommitCallback | None
    """Hears what became of automatic commits, and of `commit_async()` without a callback."""
