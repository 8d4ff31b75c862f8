"""The settings of producers. Pure."""

from dataclasses import dataclass
from typing import Final

from zkconsumer.records.codecs import Codec

ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1

SET_BYTES: Final = 900_000
"""A size below the default limit of brokers of any version (0.8: 1000000)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """The settings of a batch producer.

    Attributes:
        acks: ``ACKS_ALL`` waits for all in-sync replicas, ``ACKS_LEADER`` for the leader's log.
        timeout_ms: time limit of the broker's acknowledgement; its response may take as long again.
        retries: the number of further attempts to write a set after a transient failure. If an
            attempt got no response, its set may have been written, and is then duplicated.
        backoff_ms: the pause before each further try.
        codec: the codec to compress with.
        set_bytes: the maximum size of a set before compression, unless one record is larger.
        request_bytes: the maximum size of a request's sets, unless one set is larger: a broker
            closes the connection on more than ``socket.request.max.bytes`` (100 MB).
        idempotent: whether to number the records if brokers support (0.11) and permit it: a set
            that is sent again because its response was lost is then not duplicated, and several
            sets of a partition are in flight at a time.
    """

    acks: int = ACKS_ALL
    timeout_ms: int = 10_000
    retries: int = 20
    backoff_ms: int = 200
    codec: Codec = Codec.NONE
    set_bytes: int = SET_BYTES
    request_bytes: int = 1 << 25
    idempotent: bool = False
