"""Limits the size of the response to each request: a larger length is refused.

A fetch response has up to the requested size, and perhaps one larger entry: brokers from 0.10.1 on
(version 3) return the first one whole. Brokers of 0.11 to 1.1, for requests of an older version,
convert records to an older format *after* truncating them to the requested size, which may need
more bytes; the same allowance covers that. All other responses list partitions, groups or members,
of which there may be many.
"""

from typing import Any, Final

from zkconsumer.wire.api import ApiKey, Request
from zkconsumer.wire.messages.fetch import FIRST_SOFT_BOUNDS, FetchRequest

DEFAULT_MAX_RESPONSE_BYTES: Final = 1 << 30
"""A gigabyte: 0.8 brokers limit a fetch per partition only, so the limits add up. Each response
also has the limit of its request."""

LARGEST_ENTRY_BYTES: Final = 100 * 1024 * 1024
"""The default of ``fetch.message.growth.max.bytes``: the largest single entry."""

FRAME_BYTES: Final = 1 << 20
"""The overhead of a fetch response, besides that of each partition (see below)."""

PARTITION_BYTES: Final = 1024
"""The overhead of each partition: its name, numbers, and some aborted transactions."""

SHORT_BYTES: Final = 1 << 20
LONG_BYTES: Final = 1 << 27
"""The limit for lists; the metadata of a cluster with a million partitions takes half of it."""

_SHORT: Final = frozenset(
    {
        ApiKey.FIND_COORDINATOR,
        ApiKey.HEARTBEAT,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.API_VERSIONS,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.SASL_AUTHENTICATE,
    }
)
"""The APIs whose responses are not lists of partitions, groups or members."""


def response_bound(
    request: Request[Any], version: int, *, entry_bytes: int = LARGEST_ENTRY_BYTES
) -> int:
    """Return the limit of the response in bytes, without its length prefix.

    Args:
        request: the request that was sent.
        version: its version.
        entry_bytes: the largest single entry, which may be returned whatever size was requested.
    """
    if isinstance(request, FetchRequest):
        return _fetch_bound(request, version, entry_bytes)
    return SHORT_BYTES if request.API.key in _SHORT else LONG_BYTES


def _fetch_bound(request: FetchRequest, version: int, entry_bytes: int) -> int:
    sizes = [part.max_bytes for topic in request.topics for part in topic.partitions]
    requested_bytes = sum(sizes)
    if request.session_epoch > 0 and version >= FIRST_SOFT_BOUNDS:
        requested_bytes = request.max_bytes  # a session's response holds partitions that changed
    elif version >= FIRST_SOFT_BOUNDS:
        requested_bytes = min(request.max_bytes, requested_bytes)
    return requested_bytes + entry_bytes + FRAME_BYTES + PARTITION_BYTES * len(sizes)
