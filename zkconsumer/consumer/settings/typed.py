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
        >>> consumer = KafkaConsumer("clicks", bootstrap_servers="kafka1:9092", **settings)
        >>> consumer.close()
    """

    bootstrap_servers: str | Sequence[str] | None
    """The brokers to contact first; the others are found through them. Not used with
    `zookeeper_connect`, where ZooKeeper knows the brokers.

    Default: 'localhost:9092'. Allowed: host1:port1,host2:port2 (ports from 1 to 65535, default
    9092; a leading protocol:// is ignored), or a list of them.
    """

    zookeeper_connect: str | None
    """Join a group in ZooKeeper, for brokers of 0.8 and next to consumers of 0.8. All settings of
    [ZooKeeper consumers](configuration.md) can then be given, too.

    Allowed: host1:port1,host2:port2, optionally with one chroot such as /kafka at the end.
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
    """The group that shares the topics, and whose offsets are stored. Without one there are no
    commits, and partitions are chosen with `assign()`. The empty string is a group that brokers may
    refuse.

    Allowed: text of at most 32767 bytes in UTF-8.
    """

    group_instance_id: str | None
    """Makes a static member (KIP-345): one restarted within `session_timeout_ms` gets its
    partitions back without a rebalance. No two live members may share it.

    Allowed: 1 to 249 letters, digits, dot, underscore and dash.
    """

    session_timeout_ms: float | None
    """After this time without a heartbeat the coordinator reassigns the partitions. The value must
    lie between the broker's `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.

    Default: 45000 (brokers before 0.10.1: 30000). Allowed: an integer of at least 1.
    """

    heartbeat_interval_ms: float | None
    """The interval of heartbeats to the coordinator: at most a third of `session_timeout_ms`, so
    that two may be lost.

    Default: 3000. Allowed: an integer of at least 1.
    """

    max_poll_interval_ms: float | None
    """A member that does not poll for this long leaves its group: it counts as stuck. Its next poll
    joins again, and reports it.

    Default: 300000. Allowed: an integer of at least 1.
    """

    partition_assignment_strategy: str | Sequence[str | type] | None
    """How the leader assigns partitions, the preferred strategy first; the group uses one that all
    its members support. Only if every given one is cooperative do members keep, during a rebalance,
    the partitions that do not move (KIP-429). kafka-python's own default is range and roundrobin.

    Default: 'range,cooperative-sticky'. Allowed: some of range, roundrobin, sticky,
    cooperative-sticky, each once; or kafka-python's assignor classes.
    """

    auto_offset_reset: Literal["earliest", "latest", "none", "smallest", "largest"] | None
    """Where to start if no offset is committed, or if the log no longer contains it; with `none`
    poll raises instead.

    Default: 'latest'. Allowed: earliest or latest or none (smallest means earliest) (largest means
    latest).
    """

    auto_offset_reset_new_partitions: Literal["earliest", "latest"] | None
    """Where `latest` starts in a partition created after this consumer started, in a new topic or
    an old one: at its beginning, so that nothing is lost, as in Spark's source; or, as in Java and
    kafka-python, after the records written before it was discovered.

    Default: 'earliest'.
    """

    enable_auto_commit: bool | None
    """Whether poll commits, every `auto_commit_interval_ms`, what earlier polls returned. A
    rebalance that revokes partitions commits, too, and so does `close()`.

    Default: True.
    """

    auto_commit_interval_ms: float | None
    """The time between two commits of `enable_auto_commit`.

    Default: 5000. Allowed: an integer of at least 0.
    """

    isolation_level: Literal["read_uncommitted", "read_committed"] | IntEnum | None
    """With `read_committed`, records of aborted transactions are left out, and those of open
    transactions wait.

    Default: 'read_uncommitted'.
    """

    max_poll_records: int | None
    """The most records that one poll returns; further fetched ones wait for the next poll.

    Default: 500. Allowed: an integer of at least 1.
    """

    consumer_timeout_ms: float | None
    """Iteration ends after this time without a record; -1 (or `float('inf')`): never.

    Default: -1. Allowed: an integer of at least -1.
    """

    exclude_internal_topics: bool | None
    """Whether patterns leave out topics that belong to the cluster itself.

    Default: True.
    """

    allow_auto_create_topics: bool | None
    """Whether the metadata request for a subscribed or assigned topic may create it, if the brokers
    have `auto.create.topics.enable`. If so, subscribing to a misspelt name creates a topic, as in
    Java and kafka-python. `False` prevents that, even on brokers before 0.11, where those clients
    can't.

    Default: True.
    """

    default_api_timeout_ms: float | None
    """How long a call without `timeout_ms` may take: commit, committed, position, close, and the
    look-ups of offsets and topics.

    Default: 60000. Allowed: an integer of at least 1.
    """

    fetch_min_bytes: int | None
    """A broker delays its response until it has this many bytes, or until `fetch_max_wait_ms` has
    passed.

    Default: 1. Allowed: an integer of at least 0.
    """

    fetch_max_wait_ms: float | None
    """How long a broker may delay a response that has fewer than `fetch_min_bytes`. Less than
    `request_timeout_ms`.

    Default: 500. Allowed: an integer of at least 0.
    """

    fetch_max_bytes: int | None
    """The most bytes in one response of a broker, and the most that wait in memory for each broker.

    Default: 52428800. Allowed: an integer of at least 1.
    """

    max_partition_fetch_bytes: int | None
    """The most bytes of each partition in one response, while none is far behind (see
    `fetch_message_catch_up_max_bytes`). A larger record is still returned: brokers from 0.10.1 on
    send it whole, and with older ones the fetch grows.

    Default: 1048576. Allowed: an integer of at least 1.
    """

    fetch_message_catch_up_max_bytes: int | None
    """The largest fetch size for partitions that lag far behind: the share of a partition doubles
    after each response that fills it, up to an equal share of this. At the end of the log, after a
    failure, on a slow link and while memory is short it is `max_partition_fetch_bytes` again. Must
    be at least that; if equal, nothing grows.

    Default: 4194304, or `max_partition_fetch_bytes` where that is set. Allowed: an integer of at
    least 1.
    """

    fetch_message_growth_max_bytes: int | None
    """The size up to which a fetch grows for a record larger than `max_partition_fetch_bytes`.
    Beyond it poll raises `MessageTooLarge`.

    Default: 104857600, or `max_partition_fetch_bytes` where that is larger. Allowed: an integer of
    at least 1.
    """

    enable_incremental_fetch_sessions: bool | None
    """Whether requests to brokers from 1.1 on name only what changed since the last fetch
    (KIP-227).

    Default: True.
    """

    check_crcs: bool | None
    """Whether checksums are verified. They always are: `False` is logged at debug level, and has no
    effect.

    Default: True.
    """

    request_timeout_ms: float | None
    """How long a broker may take to respond. After 2 s without a response (a fifteenth of the
    time-out if that is less) a request that only reads is sent again, over a second connection. A
    fetch response that keeps arriving may take ten times as long.

    Default: 30000. Allowed: an integer of at least 1.
    """

    bootstrap_timeout_ms: float | None
    """A consumer connects when it is created: how long it waits for a broker to respond before it
    raises `NoBrokersAvailable`. With 0, and with `zookeeper_connect`, it connects at its first use.

    Default: 30000. Allowed: an integer of at least 0.
    """

    socket_connection_setup_timeout_ms: float | None
    """How long connecting to a broker may take.

    Default: 10000. Allowed: an integer of at least 1.
    """

    retry_backoff_ms: float | None
    """The pause after a failure; it doubles with each further one, up to `retry_backoff_max_ms`.

    Default: 100. Allowed: an integer of at least 0.
    """

    retry_backoff_max_ms: float | None
    """The longest pause after failures in a row; see `retry_backoff_ms`.

    Default: 1000. Allowed: an integer of at least 0.
    """

    metadata_max_age_ms: float | None
    """How often to refresh the list of topics and partitions. A new leader is noticed immediately;
    new partitions, and new topics that match a pattern, within this time.

    Default: 300000. Allowed: an integer of at least 1.
    """

    receive_buffer_bytes: int | None
    """The receive buffer (SO_RCVBUF) of sockets; 0 or -1 leaves it to the system, which lets it
    grow with the traffic.

    Default: -1. Allowed: an integer of at least -1.
    """

    receive_message_max_bytes: int | None
    """The largest response accepted from a broker. Brokers of 0.8 to 0.10.0 bound only the parts of
    a response, so it may be as many times `max_partition_fetch_bytes` as there are partitions.

    Default: 1073741824. Allowed: an integer of at least 1000.
    """

    metrics_enabled: bool | None
    """Whether `metrics()` returns numbers; otherwise it returns None.

    Default: True.
    """

    metric_group_prefix: str | None
    """The prefix of the names of groups in `metrics()`.

    Default: 'consumer'.
    """

    metrics_num_samples: int | None
    """The number of time windows over which `metrics()` computes rates, averages and maxima.

    Default: 2. Allowed: an integer of at least 1.
    """

    metrics_sample_window_ms: float | None
    """The length of each window of `metrics_num_samples`.

    Default: 30000. Allowed: an integer of at least 1.
    """

    api_version: object
    """Has no effect here. Versions are negotiated; `config["api_version"]` is the broker release
    found when the consumer was created, such as `(2, 8)`. A consumer with a given version connects
    at its first use, not when it is created, as in kafka-python.
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
    """Has no effect here. A connection that the broker closed is reopened when it is needed. Must
    be more than `request_timeout_ms` if both are given, as in kafka-python.
    """

    max_in_flight_requests_per_connection: object
    """Has no effect here. The client decides the order of requests."""

    send_buffer_bytes: object
    """Has no effect here. A consumer sends little."""

    socket_options: object
    """Has no effect here. Sockets use TCP_NODELAY and keep-alive."""

    client_dns_lookup: object
    """Has no effect here. All addresses of a name are tried."""

    sock_chunk_bytes: object
    """Has no effect here. Responses are read whole."""

    sock_chunk_buffer_count: object
    """Has no effect here. As above."""

    legacy_iterator: object
    """Has no effect here. There is one iterator."""

    metric_reporters: object
    """Has no effect here. `metrics()` returns the numbers."""

    selector: object
    """Has no effect here. Threads block on their sockets here."""

    net: object
    """Has no effect here. As above."""

    kafka_client: object
    """Has no effect here. As above."""

    key_deserializer: AnyDeserializer | None
    """Computes `record.key`; called at each access. Null is passed to it as None, and stays None if
    the function can't take that (`TypeError`, `AttributeError`).
    """

    value_deserializer: AnyDeserializer | None
    """Computes `record.value`."""

    ssl_context: SSLContext | None
    """Replaces all other settings that begin with `ssl_`."""

    sasl_oauth_token_provider: Callable[[], str] | TokenProvider | None
    """With `OAUTHBEARER`: called at each connection, and whenever a broker requires
    re-authentication; several threads may call it at a time.
    """

    default_offset_commit_callback: CommitCallback | None
    """Called with the result of automatic commits, and of `commit_async()` without a callback.
    """
