"""Translates the names of confluent-kafka's settings and methods, for error messages.

None of those names works here; the error says what to write instead. Source: the documentation of
confluent-kafka's ``Consumer``, and librdkafka's CONFIGURATION.md.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar, cast

from zkconsumer.errors import IllegalArgumentError

KEYS: Mapping[str, str] = {
    "metadata.broker.list": "bootstrap_servers",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.crl.location": "ssl_crlfile",
    "ssl.cipher.suites": "ssl_ciphers",
    "fetch.wait.max.ms": "fetch_max_wait_ms",
    "fetch.message.max.bytes": "max_partition_fetch_bytes",
    "queued.max.messages.kbytes": "fetch_max_bytes",
    "socket.timeout.ms": "request_timeout_ms",
    "socket.receive.buffer.bytes": "receive_buffer_bytes",
    "topic.metadata.refresh.interval.ms": "metadata_max_age_ms",
}
"""The keys that have another name here; most others only have underscores for dots."""

METHODS: Mapping[str, str] = {
    "consume": "poll(timeout_ms=1000, max_records=100) gives lists of records by partition",
    "consumer_group_metadata": "group_metadata()",
    "get_watermark_offsets": "beginning_offsets([partition]) and end_offsets([partition])",
    "incremental_assign": "assign(), with all partitions that are to be read",
    "incremental_unassign": "assign(), with the partitions that are left",
    "list_topics": "topics() and partitions_for_topic(topic)",
    "memberid": "group_metadata().member_id",
    "on_assign": "subscribe(topics, listener=a ConsumerRebalanceListener)",
    "on_revoke": "subscribe(topics, listener=a ConsumerRebalanceListener)",
    "set_sasl_credentials": "sasl_plain_username and sasl_plain_password of a new consumer",
    "store_offsets": "commit({partition: OffsetAndMetadata(offset)}), with enable_auto_commit off",
}
"""The methods of its ``Consumer`` that are missing here, and what to call instead."""

_MOST_SECONDS = 10.0


def advice_on_dict(keys: Iterable[object]) -> str:
    """Return what to write instead of ``Consumer({...})``, without values, as some are secret."""
    names = [_called_here(key) for key in keys if isinstance(key, str)]
    shown = ", ".join(f"{name}=..." for name in names[:10]) or "bootstrap_servers=..., group_id=..."
    more = ", ..." if len(names) > 10 else ""
    return (
        "a map of settings is not a topic (confluent-kafka takes one here): write "
        f"KafkaConsumer('topic', {shown}{more}), or KafkaConsumer('topic', config=...)"
    )


def advice_on_key(name: str) -> str:
    """Return what to write instead of a keyword argument that has dots."""
    return f"{name} is not a keyword argument: write {_called_here(name)}=..., or config={{...}}"


def _called_here(key: str) -> str:
    return KEYS.get(key, key.replace(".", "_"))


F = TypeVar("F", bound=Callable[..., Any])


def in_milliseconds(poll: F) -> F:
    """Decorate ``poll`` to refuse time-outs in seconds: ``poll(1.0)``, ``poll(timeout=1.0)``.

    Floats up to 10 with at most two decimals are most likely in seconds: so short a wait in
    milliseconds is useless, and a computed time-out would have more digits. ``timeout_ms=1.0`` is
    accepted, since it names the unit.

    Raises:
        IllegalArgumentError: says what to write.
    """

    @functools.wraps(poll)
    def checked(self: object, *args: Any, **named: Any) -> Any:
        wait = args[0] if args else None
        if isinstance(wait, float) and 0 < wait <= _MOST_SECONDS and round(wait, 2) == wait:
            raise IllegalArgumentError(
                f"poll({wait}) would wait for {wait} milliseconds: for {wait} seconds, as with "
                f"confluent-kafka, write poll(timeout_ms={round(wait * 1000)}); for {wait} "
                f"milliseconds, write poll(timeout_ms={wait})"
            )
        if "timeout" in named:
            raise IllegalArgumentError("poll() has no timeout: write timeout_ms, in milliseconds")
        return poll(self, *args, **named)

    return cast("F", checked)


def refuse_method(kind: str, name: str) -> NoReturn:
    """Raise the usual error of a missing attribute, naming the method to call instead.

    Args:
        kind: the name of the class.
        name: the name of the attribute.
    """
    hint = f" (confluent-kafka's): write {METHODS[name]}" if name in METHODS else ""
    raise AttributeError(f"{kind!r} object has no attribute {name!r}{hint}")
