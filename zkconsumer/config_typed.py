"""Keyword arguments of ``ConsumerConfig``, for type checkers and editors.

Printed by ``make generated`` from the table in ``config_keys``; a test fails when it is stale.
"""

from typing import Literal, TypedDict


class SharedSettings(TypedDict, total=False):
    """The settings that ``ConsumerConfig`` and ``KafkaConsumer`` share."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] | None
    """The protocol of the brokers' port.

    Default: 'PLAINTEXT'.
    """

    ssl_cafile: str | None
    """A PEM file with the authorities that signed the brokers' certificates; by default the
    authorities that the machine trusts.
    """

    ssl_certfile: str | None
    """A PEM file with the client's certificate, where brokers require one."""

    ssl_keyfile: str | None
    """A PEM file with the certificate's private key, unless `ssl.certfile` contains it."""

    ssl_password: str | None
    """The password of the private key; never shown or logged."""

    ssl_check_hostname: bool | None
    """Whether a broker's certificate must match the host name used to connect to it.

    Default: True.
    """

    ssl_ciphers: str | None
    """The ciphers allowed, as a cipher list of OpenSSL."""

    ssl_crlfile: str | None
    """A PEM file with revoked certificates."""

    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"] | None
    )
    """How the client authenticates, with the protocols that begin with SASL."""

    sasl_plain_username: str | None
    """The user name, for `PLAIN` and SCRAM."""

    sasl_plain_password: str | None
    """The password; never shown or logged."""

    sasl_oauthbearer_token_endpoint_url: str | None
    """With `OAUTHBEARER` and no token provider: the endpoint that grants tokens for client
    credentials.
    """

    sasl_oauthbearer_client_credentials_client_id: str | None
    """The client id for that endpoint."""

    sasl_oauthbearer_client_credentials_client_secret: str | None
    """The client secret for that endpoint; never shown or logged."""

    sasl_oauthbearer_scope: str | None
    """The scope to request for the tokens; by default the endpoint decides."""

    sasl_kerberos_service_name: str | None
    """With `GSSAPI`: the first part of the brokers' principal.

    Default: 'kafka'.
    """

    sasl_kerberos_domain_name: str | None
    """With `GSSAPI`: the host in the brokers' principal; by default the host that each broker
    advertises.
    """

    sasl_kerberos_keytab: str | None
    """With `GSSAPI`: the file with the client's key; by default the tickets of `kinit` are used.
    """

    sasl_kerberos_principal: str | None
    """With `GSSAPI`: the client's principal; by default the first one in the keytab, or that of the
    tickets.
    """

    fetch_max_decompressed_bytes: int | None
    """The largest decompressed size of what one fetch returns for one partition.

    Default: 134217728. Allowed: an integer of at least 1.
    """

    ssl_truststore_location: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_truststore_type: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_truststore_password: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_keystore_location: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_keystore_type: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_keystore_password: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_key_password: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    ssl_endpoint_identification_algorithm: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""

    sasl_jaas_config: str | None
    """A setting of Java clients, in PEM form or as a path; see docs/security.md."""


class ZookeeperGroupSettings(SharedSettings, total=False):
    """More shared settings: ``KafkaConsumer`` takes them with ``zookeeper_connect`` only."""

    zookeeper_session_timeout_ms: int | None
    """The session time-out to request of ZooKeeper; the server may grant another. A member that
    crashes keeps its partitions for that long.

    Default: 6000. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    zookeeper_connection_timeout_ms: int | None
    """How long to wait for the first connection to ZooKeeper, and later for the response to each
    batch of requests.

    Default: `zookeeper.session.timeout.ms`. Allowed: an integer of at least 1. In ZooKeeper groups
    only.
    """

    zookeeper_sync_time_ms: int | None
    """Used only as the default of `rebalance.backoff.ms`.

    Default: 2000. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    zookeeper_auth_scheme: Literal["none", "digest", "sasl"] | None
    """How the client authenticates: `digest` as `addauth digest` of `zkCli.sh` does; `sasl` by
    DIGEST-MD5, as the `DigestLoginModule` of a JAAS file does (needs `zkconsumer[zookeeper-sasl]`).

    Default: 'none'. In ZooKeeper groups only.
    """

    zookeeper_auth_username: str | None
    """The user name for `zookeeper.auth.scheme`. In ZooKeeper groups only."""

    zookeeper_auth_password: str | None
    """The password for `zookeeper.auth.scheme`; never shown or logged. In ZooKeeper groups only.
    """

    zookeeper_set_acl: bool | None
    """Whether created nodes get an ACL: the same user may change them, everyone may read them.
    Otherwise anyone may change them. `/consumers` itself stays open, since every group writes below
    it. With ACLs all members of a group need the same user name.

    Default: true where `zookeeper.auth.scheme` is set. In ZooKeeper groups only.
    """

    zookeeper_ssl_client_enable: bool | None
    """Whether ZooKeeper's port uses TLS (its `secureClientPort`, ZooKeeper 3.5 and later).

    Default: False. In ZooKeeper groups only.
    """

    zookeeper_ssl_truststore_location: str | None
    """A PEM file with the authorities trusted to sign ZooKeeper's certificate.

    Default: the machine's. In ZooKeeper groups only.
    """

    zookeeper_ssl_keystore_location: str | None
    """A PEM file with the client's certificate and its key, for a ZooKeeper that requires one.

    Default: none. In ZooKeeper groups only.
    """

    zookeeper_ssl_keystore_password: str | None
    """The password of that key; never shown or logged. In ZooKeeper groups only."""

    zookeeper_ssl_endpoint_identification_algorithm: Literal["HTTPS", ""] | None
    """Empty: the certificate need not match the host name.

    Default: 'HTTPS'. In ZooKeeper groups only.
    """

    consumer_id: str | None
    """Replaces the generated part (`host-ms-hex`) of the member's id. For tests: two live members
    of one group must not share it.

    Default: generated. Allowed: printable text without a slash, at least one character. In
    ZooKeeper groups only.
    """

    fetch_wait_max_ms: int | None
    """The longest that a broker delays a response while it waits for `fetch.min.bytes`.

    Default: 100. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    socket_timeout_ms: int | None
    """Time-out for connecting to a broker and for its responses. After 2 s without a response (a
    fifteenth of the time-out if that is less) a request that only reads is sent again, over a
    second connection. A fetch response that keeps arriving may take ten times as long. At least
    `fetch.wait.max.ms` (0.8.2 has that check, but it does not work).

    Default: 30000. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    socket_receive_buffer_bytes: int | None
    """The receive buffer (SO_RCVBUF) of the sockets that fetch; 0 or -1 leaves it to the system,
    which lets it grow with the traffic. The original's default, 65536, costs a consumer that
    catches up a seventh of its speed.

    Default: -1. Allowed: an integer of at least -1. In ZooKeeper groups only.
    """

    fetch_message_max_bytes: int | None
    """How many bytes *of each partition* to request in one fetch. The original gets stuck at a
    message (or compressed set) larger than this; here the fetch of that partition grows, see
    `fetch.message.growth.max.bytes`.

    Default: 1048576. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    num_consumer_fetchers: int | None
    """Fetcher threads *for each broker* that leads partitions of this consumer.

    Default: 1. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    queued_max_message_chunks: int | None
    """How many fetched chunks may wait in a stream's queue; each can be as large as one partition's
    fetch.

    Default: 2. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    queued_max_bytes: int | None
    """How many bytes may wait in all streams' queues together, as they take up memory after
    decompression; every stream may use an equal share. In addition, each fetcher holds at most one
    response of its broker, see `fetch.max.bytes`.

    Default: 67108864. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    delivery: Literal["at_least_once", "at_most_once", "scala"] | None
    """What an automatic commit covers. `at_least_once`: messages whose successor was requested.
    `at_most_once`: the offset is committed before the message is delivered. `scala`: delivered
    messages, as in the original; a crash may lose the current one.

    Default: 'at_least_once'. In ZooKeeper groups only.
    """

    poison_policy: Literal["raise", "skip", "dead_letter"] | None
    """What to do with a message that can't be read (damaged, unknown codec, larger than the largest
    fetch): the stream raises and the partition stops; it is logged and skipped; or it is written to
    `poison.dead.letter.file` and skipped.

    Default: 'raise'. In ZooKeeper groups only.
    """

    poison_dead_letter_file: str | None
    """With `poison.policy=dead_letter`: the file to append to, one JSON object per line with the
    position, the reason and the raw bytes.

    Default: ''. In ZooKeeper groups only.
    """

    auto_commit_enable: bool | None
    """Commit offsets at regular intervals, before every rebalance and at shutdown.

    Default: True. In ZooKeeper groups only.
    """

    rebalance_max_retries: int | None
    """How many attempts a rebalance has *in all*, the first included.

    Default: 4. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    rebalance_backoff_ms: int | None
    """The pause after each failed attempt of a rebalance.

    Default: `zookeeper.sync.time.ms`. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    owner_audit_interval_ms: int | None
    """How often a member checks, between rebalances, that its owner nodes still exist, and that
    every partition assigned to it has one; 0: never.

    Default: 30000. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    zookeeper_silence_percent: int | None
    """Delivery pauses when ZooKeeper has not responded for this share of the session time-out: soon
    after, the session may expire and others may own the partitions. While the connection is up,
    less than 17 counts as 17, which is the time of two pings.

    Default: 33. Allowed: an integer of at least 0 and at most 100. In ZooKeeper groups only.
    """

    refresh_leader_backoff_ms: int | None
    """The pause between two look-ups of the leaders of partitions without one.

    Default: 200. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    offsets_storage: Literal["zookeeper", "kafka"] | None
    """Where offsets are stored; upper or lower case. Must be the same on all members of a group;
    while a group moves from one to the other, `dual.commit.enabled` writes both.

    Default: 'zookeeper'. In ZooKeeper groups only.
    """

    dual_commit_enabled: bool | None
    """With `offsets.storage=kafka`: also commit to ZooKeeper, while a group moves. Ignored with
    ZooKeeper storage.

    Default: true with `offsets.storage=kafka`, else false. In ZooKeeper groups only.
    """

    offsets_channel_backoff_ms: int | None
    """The pause between attempts to find or to query the offset coordinator.

    Default: 1000. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    offsets_channel_socket_timeout_ms: int | None
    """Time-out of the connection to the offset coordinator.

    Default: 10000. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    offsets_commit_max_retries: int | None
    """How often a failed commit is retried; automatic commits are not retried.

    Default: 5. Allowed: an integer of at least 0. In ZooKeeper groups only.
    """

    shutdown_timeout_ms: int | None
    """The longest that `shutdown()` takes, the last commit included.

    Default: 30000. Allowed: an integer of at least 1. In ZooKeeper groups only.
    """

    serializer_encoding: str | None
    """The character set of a string decoder created from this configuration.

    Default: 'UTF8'. Allowed: the name of a character set that Python knows. In ZooKeeper groups
    only.
    """

    kafka_metrics_reporters: str | None
    """Has no effect here. Classes of the original that report metrics. In ZooKeeper groups only.
    """

    kafka_metrics_polling_interval_secs: int | None
    """Has no effect here. How often those report. In ZooKeeper groups only."""

    kafka_csv_metrics_dir: str | None
    """Has no effect here. Where the original's CSV reporter writes. In ZooKeeper groups only.
    """

    kafka_csv_metrics_reporter_enabled: bool | None
    """Has no effect here. Whether the original's CSV reporter runs. In ZooKeeper groups only.
    """

    mirror_topics_whitelist: str | None
    """Has no effect here. Named in the original, but never read there either. In ZooKeeper groups
    only.
    """

    mirror_topics_blacklist: str | None
    """Has no effect here. Named in the original, but never read there either. In ZooKeeper groups
    only.
    """

    mirror_consumer_numthreads: int | None
    """Has no effect here. Named in the original, but never read there either. In ZooKeeper groups
    only.
    """


class ConsumerSettings(ZookeeperGroupSettings, total=False):
    """Settings of a consumer of ZooKeeper groups, by their keys with underscores.

    None counts as not given. A function that passes settings on takes
    ``**settings: Unpack[ConsumerSettings]``.

    Example:
        >>> settings: ConsumerSettings = {"group_id": "billing", "client_id": "b1"}
        >>> config = ConsumerConfig(zookeeper_connect="zk1:2181", **settings)
    """

    zookeeper_connect: str | None
    """The addresses of ZooKeeper. The chroot must exist: brokers create it, consumers don't.

    Required. Allowed: host1:port1,host2:port2, optionally with one chroot such as /kafka at the
    end.
    """

    group_id: str | None
    """The consumer group. The original lets an empty group id pass, and then works in the nodes
    `/consumers//...`, which ZooKeeper refuses with an error that does not name the cause; here it
    is refused immediately, as are `.` and `..`.

    Required. Allowed: letters, digits, dot, underscore and dash, at least one of them.
    """

    client_id: str | None
    """Names this client in requests: it shows up in the broker's logs and metrics.

    Default: `group.id`. Allowed: letters, digits, dot, underscore and dash.
    """

    fetch_message_catch_up_max_bytes: int | None
    """The largest fetch size for a partition that lags far behind: it doubles after each response
    that fills it, within `fetch.max.bytes` and the free bytes of its stream's queue. At the end of
    the log it is `fetch.message.max.bytes` again. Must be at least that; if equal, nothing grows.

    Default: 4194304, or `fetch.message.max.bytes` where that is set. Allowed: an integer of at
    least 1.
    """

    fetch_message_growth_max_bytes: int | None
    """How far the fetch of a partition may grow when it meets a message larger than
    `fetch.message.max.bytes`. Beyond this the stream raises `MessageTooLarge`. Must be at least
    `fetch.message.max.bytes`; if equal, nothing grows.

    Default: 104857600, or `fetch.message.max.bytes` where that is larger. Allowed: an integer of at
    least 1.
    """

    fetch_min_bytes: int | None
    """How many bytes the broker should have before it responds to a fetch.

    Default: 1. Allowed: an integer of at least 0.
    """

    fetch_max_bytes: int | None
    """How many bytes to request from one broker in one fetch, over all partitions: with many
    partitions the share of each is less than `fetch.message.max.bytes`. A single message that is
    larger is still returned.

    Default: 52428800. Allowed: an integer of at least 1.
    """

    auto_commit_interval_ms: int | None
    """The time between two automatic commits.

    Default: 60000. Allowed: an integer of at least 1.
    """

    auto_offset_reset: Literal["smallest", "largest", "earliest", "latest"] | None
    """Where to start when no offset is stored, or when it lies outside the log. The names of later
    versions, `earliest` and `latest`, are accepted, too.

    Default: 'largest'. Allowed: smallest or largest (earliest means smallest) (latest means
    largest).
    """

    consumer_timeout_ms: int | None
    """Negative: a stream waits forever. Otherwise it raises `ConsumerTimeout` after this time
    without a message, and stays usable.

    Default: -1.
    """

    exclude_internal_topics: bool | None
    """Filters never match `__consumer_offsets`. Has no effect on topics named one by one. Must be
    the same on all members of a group.

    Default: True.
    """

    partition_assignment_strategy: Literal["range", "roundrobin"] | None
    """How partitions are assigned. Must be the same on all members of a group, and nothing detects
    a mismatch. The original treats every unknown value as `range`; here it is refused.

    Default: 'range'.
    """
