"""How large the response to a request may be: nothing larger is believed, whatever its length says.

A fetch brings what was requested for, and perhaps one entry that is larger: brokers from 0.10.1 on
(version 3) give the first one whole. Those of 0.11 to 1.1, asked in an older version, turn what
they have into older messages *after* they have cut it to the size that was asked for, and these
take more room; the same allowance covers that. All others tell of partitions, groups and members,
of which there may be many.
"""

from typing import Any, Final

from zkconsumer.wire.api import ApiKey, Request
from zkconsumer.wire.messages.fetch import FIRST_SOFT_BOUNDS, FetchRequest

DEFAULT_MAX_RESPONSE_BYTES: Final = 1 << 30
"""A gigabyte: 0.8 brokers bound a fetch per partition only, so many of them add up. Each answer is
held against what was requested besides."""

LARGEST_ENTRY_BYTES: Final = 100 * 1024 * 1024
"""How large a single entry may be, where nobody says otherwise: the default of
``fetch.message.growth.max.bytes``."""

FRAME_BYTES: Final = 1 << 20
"""Around the record sets of a response, for each partition besides: see below."""

PARTITION_BYTES: Final = 1024
"""Its name, its numbers, and some aborted transactions."""

SHORT_BYTES: Final = 1 << 20
LONG_BYTES: Final = 1 << 27
"""Metadata of a cluster with a million partitions takes half of it."""

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
"""Those that tell of one thing."""


def response_bound(
    request: Request[Any], version: int, *, entry_bytes: int = LARGEST_ENTRY_BYTES
) -> int:
    """Return how many bytes the response may have, its length not counted.

    Args:
        request: what is asked.
        version: in which.
        entry_bytes: how large a single entry may be that comes whatever was requested for.
    """
    if isinstance(request, FetchRequest):
        return _fetch_bound(request, version, entry_bytes)
    return SHORT_BYTES if request.API.key in _SHORT else LONG_BYTES


def _fetch_bound(request: FetchRequest, version: int, entry_bytes: int) -> int:
    sizes = [part.max_bytes for topic in request.topics for part in topic.partitions]
    requested_bytes = sum(sizes)
    if request.session_epoch > 0 and version >= FIRST_SOFT_BOUNDS:
        requested_bytes = (
            request.max_bytes
        )  # of the session's partitions it names those that changed
    elif version >= FIRST_SOFT_BOUNDS:
        requested_bytes = min(request.max_bytes, requested_bytes)
    return requested_bytes + entry_bytes + FRAME_BYTES + PARTITION_BYTES * len(sizes)
