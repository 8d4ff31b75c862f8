"""The settings of producers. Pure."""

from dataclasses import dataclass, field
from typing import Final

from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.records.codecs import Codec

ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1

SET_BYTES: Final = 900_000
"""A size below the default limit of brokers of any version (0.8: 1000000)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """The settings of a producer.

    Attributes:
        client_id: sent with every request, unless the producer has a dialer.
        security: TLS and SASL, unless the producer has a dialer.
        acks: ``ACKS_ALL`` waits for all in-sync replicas, ``ACKS_LEADER`` for the leader's log,
            ``ACKS_NONE`` for nothing (the base offset is then -1, and failures go unnoticed).
        timeout_ms: time limit of the broker's acknowledgement; its response may take as long again.
        retries: the number of further attempts after a transient failure. If an attempt got
            no response, its set may have been written, and is then duplicated.
        backoff_ms: the pause before each further try.
    """

    client_id: str = "zkconsumer-producer"
    security: SecuritySettings = PLAINTEXT
    acks: int = ACKS_ALL
    timeout_ms: int = 10_000
    retries: int = 20
    backoff_ms: int = 200

    @property
    def client(self) -> ClientSettings:
        """The settings that every client of brokers has."""
        return ClientSettings(
            client_id=self.client_id, timeout_ms=self.timeout_ms, security=self.security
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """The settings of a batch producer.

    Attributes:
        producer: acknowledgements, time-outs, retries; here ``retries`` is per set.
        codec: the codec to compress with.
        set_bytes: the maximum size of a set before compression, unless one record is larger.
        request_bytes: the maximum size of a request's sets, unless one set is larger: a broker
            closes the connection on more than ``socket.request.max.bytes`` (100 MB).
        idempotent: whether to number the records if brokers support (0.11) and permit it: a set
            that is sent again because its response was lost is then not duplicated, and several
            sets of a partition are in flight at a time.
    """

    producer: ProducerSettings = field(default_factory=ProducerSettings)
    codec: Codec = Codec.NONE
    set_bytes: int = SET_BYTES
    request_bytes: int = 1 << 25
    idempotent: bool = False
