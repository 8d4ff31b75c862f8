"""The API versions that brokers before 0.10 serve, by generation.

Brokers before 0.10 can't list their versions, and 0.8 brokers misread versions that they don't know
instead of refusing them, so this table must be right. ``negotiation`` finds out the generation of a
broker; later brokers list their versions. Source: Kafka 0.8.0, 0.8.1.1, 0.8.2.2 ``RequestKeys``;
0.9.0.1 ``Protocol``.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from zkconsumer.wire.api import ApiKey


class BrokerGeneration(Enum):
    """Brokers with the same API versions."""

    V0_8_0 = "0.8.0"
    V0_8_1 = "0.8.1"
    V0_8_2 = "0.8.2"
    V0_9 = "0.9"


class VersionRange(NamedTuple):
    """An inclusive range of versions."""

    first: int
    last: int


OLDEST: Final = BrokerGeneration.V0_8_0
"""The generation whose versions all brokers before Kafka 4 serve."""

_EVER = VersionRange(0, 0)
_ALL_0_8: Final = {
    ApiKey.PRODUCE: _EVER,
    ApiKey.FETCH: _EVER,
    ApiKey.LIST_OFFSETS: _EVER,
    ApiKey.METADATA: _EVER,
}

KNOWN_VERSIONS: Final[Mapping[BrokerGeneration, Mapping[ApiKey, VersionRange]]] = MappingProxyType(
    {
        BrokerGeneration.V0_8_0: _ALL_0_8,
        BrokerGeneration.V0_8_1: {
            **_ALL_0_8,
            ApiKey.OFFSET_COMMIT: VersionRange(0, 0),
            ApiKey.OFFSET_FETCH: VersionRange(0, 0),
        },
        BrokerGeneration.V0_8_2: {
            **_ALL_0_8,
            ApiKey.OFFSET_COMMIT: VersionRange(0, 1),
            ApiKey.OFFSET_FETCH: VersionRange(0, 1),
            ApiKey.CONSUMER_METADATA: VersionRange(0, 0),
        },
        BrokerGeneration.V0_9: {
            ApiKey.PRODUCE: VersionRange(0, 1),
            ApiKey.FETCH: VersionRange(0, 1),
            ApiKey.LIST_OFFSETS: _EVER,
            ApiKey.METADATA: _EVER,
            ApiKey.OFFSET_COMMIT: VersionRange(0, 2),
            ApiKey.OFFSET_FETCH: VersionRange(0, 1),
            ApiKey.FIND_COORDINATOR: VersionRange(0, 0),
            ApiKey.JOIN_GROUP: VersionRange(0, 0),
            ApiKey.HEARTBEAT: VersionRange(0, 0),
            ApiKey.LEAVE_GROUP: VersionRange(0, 0),
            ApiKey.SYNC_GROUP: VersionRange(0, 0),
            ApiKey.DESCRIBE_GROUPS: VersionRange(0, 0),
            ApiKey.LIST_GROUPS: VersionRange(0, 0),
        },
    }
)
