"""How a producer writes. Pure."""

from dataclasses import dataclass, field
from typing import Final

from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.records.codecs import Codec

ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1

SET_BYTES: Final = 900_000
"""Less than brokers of any version take unless told otherwise (0.8: 1000000): a larger set would be
refused, and go again in two halves, each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """How a producer writes.

    Attributes:
        client_id: sent with every request, unless the producer was given a dialer.
        security: TLS and SASL, unless it was given one.
        acks: ``ACKS_ALL`` waits for all in-sync replicas, ``ACKS_LEADER`` for the leader's log,
            ``ACKS_NONE`` for nothing (the base offset is then -1, and a failure goes unnoticed).
        timeout_ms: how long the broker, and then the response, may take.
        retries: further tries after one that may have failed for a passing reason. A try whose
            answer was lost may have been written: then the set is there twice.
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
        """What it shares with every client of brokers."""
        return ClientSettings(
            client_id=self.client_id, timeout_ms=self.timeout_ms, security=self.security
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How records are written.

    Attributes:
        producer: acknowledgements, time-outs, tries; here ``retries`` is for each set.
        codec: what sets are compressed with.
        set_bytes: how large a set may become before it is compressed, unless one record is larger.
        request_bytes: how many bytes of sets go to a broker at once, unless one set is larger: a
            broker closes the connection on more than ``socket.request.max.bytes`` (100 MB).
        idempotent: number the records where brokers can keep account of them (0.11), and let us:
            what is sent again, since its response got lost, is not written again then, and
            several sets of a partition are under way at a time.
    """

    producer: ProducerSettings = field(default_factory=ProducerSettings)
    codec: Codec = Codec.NONE
    set_bytes: int = SET_BYTES
    request_bytes: int = 1 << 25
    idempotent: bool = False
