"""Reads ``kafka.*``: the client settings of a query. Pure.

Names of Kafka 0.8 and of later Kafka both work. Options that Spark's source refuses are refused.
Others are accepted without effect, as in Spark, with a note.
Source: Spark 4.2 ``KafkaSourceProvider.validateGeneralOptions``, Kafka 0.8.2.2 ``ConsumerConfig``.
"""

from collections.abc import Collection, Mapping

from zkconsumer.errors import ConfigError
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.spark.broker_security import is_of_security
from zkconsumer.spark.option_values import read_choice, read_first_int

PREFIX = "kafka."
CLIENT_ID = "kafka.client.id"
DEFAULT_CLIENT_ID = "zkconsumer-spark"
FETCH_BYTES = ("kafka.max.partition.fetch.bytes", "kafka.fetch.message.max.bytes")
GROWTH_MAX_BYTES = ("kafka.fetch.message.growth.max.bytes",)
MAX_DECOMPRESSED_BYTES = ("kafka.fetch.max.decompressed.bytes",)
TIMEOUT_MS = ("kafka.request.timeout.ms", "kafka.socket.timeout.ms")
MAX_WAIT_MS = ("kafka.fetch.max.wait.ms", "kafka.fetch.wait.max.ms")
BACKOFF_MS = ("kafka.retry.backoff.ms", "kafka.refresh.leader.backoff.ms")
OFFSETS_STORAGE = "kafka.offsets.storage"
ISOLATION = "kafka.isolation.level"

ALIASES = {"kafka.group.id": "group.id", "kafka.zookeeper.connect": "zookeeper.connect"}
"""Aliases of other options."""

EFFECTIVE = frozenset(
    {
        CLIENT_ID,
        OFFSETS_STORAGE,
        ISOLATION,
        "kafka.bootstrap.servers",
        *ALIASES,
        *FETCH_BYTES,
        *GROWTH_MAX_BYTES,
        *MAX_DECOMPRESSED_BYTES,
        *TIMEOUT_MS,
        *MAX_WAIT_MS,
        *BACKOFF_MS,
    }
)
"""The names with an effect; no others with the prefix have one, except those of broker security."""

_NO_RESET = (
    "it is not supported: set startingOffsets for the start of a new query. A resumed query starts "
    "where it left off, and failOnDataLoss decides about messages that no longer exist"
)
_NO_COMMIT = (
    "it is not supported: Spark keeps a query's progress. To commit it for the group as well, set "
    "commitOffsetsTo"
)
_BYTES = "it is not supported: keys and values are bytes; use DataFrame operations to decode them"

REFUSED = {
    "kafka.auto.offset.reset": _NO_RESET,
    "kafka.key.deserializer": _BYTES,
    "kafka.value.deserializer": _BYTES,
    "kafka.enable.auto.commit": _NO_COMMIT,
    "kafka.auto.commit.enable": _NO_COMMIT,
    "kafka.interceptor.classes": "it is not supported: an interceptor could change messages",
}
"""Refused names, with the alternative to each."""


def check_kafka(
    options: Mapping[str, str], refused: Mapping[str, str], effective: Collection[str], where: str
) -> tuple[str, ...]:
    """Check that no name is refused; return a note on each option of Kafka's without effect.

    Args:
        options: options by names in lower case.
        refused: the refused names, with the alternative to each.
        effective: the names with an effect, besides those of the brokers' security.
        where: the end of each note.

    Raises:
        ConfigError: an option is refused; names it.
    """
    for name, reason in refused.items():
        if name in options:
            raise ConfigError(f"{name}: {reason}")
    return tuple(
        f"option {name} is accepted but has no effect {where}"
        for name in sorted(options)
        if name.startswith(PREFIX) and name not in effective and not is_of_security(name)
    )


def read_range_settings(
    options: Mapping[str, str], *, poll_timeout_ms: int, fail_on_data_loss: bool
) -> RangeSettings:
    """Read range settings from options, with the defaults of ``RangeSettings``.

    Raises:
        ConfigError: a value is invalid; names the option.
    """
    usual = RangeSettings()
    fetch_bytes = read_first_int(options, FETCH_BYTES, usual.fetch_bytes, low=1)
    return RangeSettings(
        client_id=options.get(CLIENT_ID, DEFAULT_CLIENT_ID),
        fetch_bytes=fetch_bytes,
        growth_max_bytes=max(
            fetch_bytes, read_first_int(options, GROWTH_MAX_BYTES, usual.growth_max_bytes, low=1)
        ),
        timeout_ms=read_first_int(options, TIMEOUT_MS, usual.timeout_ms, low=1),
        max_wait_ms=read_first_int(options, MAX_WAIT_MS, usual.max_wait_ms, low=0),
        retries=usual.retries,
        retry_interval_ms=read_first_int(options, BACKOFF_MS, usual.retry_interval_ms, low=0),
        poll_timeout_ms=poll_timeout_ms,
        max_decompressed_bytes=read_first_int(
            options, MAX_DECOMPRESSED_BYTES, usual.max_decompressed_bytes, low=1
        ),
        fail_on_data_loss=fail_on_data_loss,
        isolation=_isolation(options),
    )


def _isolation(options: Mapping[str, str]) -> IsolationLevel:
    names = {level.name.lower(): level for level in IsolationLevel}
    usual = IsolationLevel.READ_UNCOMMITTED.name.lower()
    return names[read_choice(ISOLATION, options.get(ISOLATION, usual), tuple(names))]
