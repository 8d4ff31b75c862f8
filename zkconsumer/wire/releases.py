"""Infers the Kafka release of a broker from the API versions that it serves.

No broker reports its release. Programs written for kafka-python read it from
``config["api_version"]`` to know which features they may use: so it is inferred from the same marks
as in kafka-python 3.0.12, with the same result. Requests never depend on it, but on the versions
that the broker serves.

A release without a mark of its own is taken for the previous one. So is one that hides its mark: a
3.4 in a cluster without ZooKeeper no longer lists LeaderAndIsr, and is taken for 3.3.

Source: KIP-35; ``broker_version`` of kafka-python 3.0.12; Kafka's release notes.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from zkconsumer.wire.api import ApiKey

Release = tuple[int, ...]
"""The significant numbers of a release: (0, 10, 2), (2, 8)."""

# APIs that the codec lacks: only their listed versions are of interest.
_LEADER_AND_ISR: Final = 4
_ADD_PARTITIONS_TO_TXN: Final = 24
_DESCRIBE_ACLS: Final = 29
_DESCRIBE_LOG_DIRS: Final = 35
_DESCRIBE_CLIENT_QUOTAS: Final = 48

_FIRST_WITH_API_VERSIONS: Final[Release] = (0, 10, 0)
"""The first release that lists its API versions."""

_FIRST_WITHOUT: Final[Release] = (2, 8)
"""The first release that can run without ZooKeeper."""

_MARKS: Final[Mapping[int, Mapping[int, Release]]] = MappingProxyType(
    {
        ApiKey.PRODUCE: {8: (2, 4), 9: (2, 8), 11: (3, 8), 13: (4, 1)},
        ApiKey.FETCH: {
            7: (1, 1),
            8: (2, 0),
            10: (2, 1),
            11: (2, 3),
            12: (2, 7),
            13: (3, 1),
            15: (3, 5),
            16: (3, 7),
            17: (3, 9),
        },
        ApiKey.LIST_OFFSETS: {5: (2, 2), 7: (3, 0), 10: (4, 0), 11: (4, 2)},
        ApiKey.METADATA: {2: (0, 10, 1), 4: (0, 11), 5: (1, 0)},
        ApiKey.OFFSET_FETCH: {2: (0, 10, 2)},
        ApiKey.JOIN_GROUP: {9: (3, 2)},
        _LEADER_AND_ISR: {7: (3, 4)},
        _ADD_PARTITIONS_TO_TXN: {4: (3, 6)},
        _DESCRIBE_ACLS: {2: (2, 5), 3: (3, 3)},
        _DESCRIBE_LOG_DIRS: {5: (4, 3)},
        _DESCRIBE_CLIENT_QUOTAS: {0: (2, 6)},
    }
)
"""The releases that introduced versions of an API, by the API's key."""


def release_of(newest: Mapping[int, int]) -> Release:
    """Return the newest release whose mark the broker shows.

    Args:
        newest: the last version of each API that the broker listed, by the API's key; includes APIs
            that the codec does not support.

    Example:
        >>> release_of({ApiKey.FETCH: 12, ApiKey.PRODUCE: 9})
        (2, 8)
    """
    shown = (
        release
        for key, marks in _MARKS.items()
        for version, release in marks.items()
        if newest.get(key, -1) >= version
    )
    return max(shown, default=_FIRST_WITH_API_VERSIONS)


def keeps_no_zookeeper(newest: Mapping[int, int]) -> bool:
    """Return whether a broker with these versions belongs to a cluster without ZooKeeper (KRaft).

    With ZooKeeper, the controller sends the leaders to the brokers by LeaderAndIsr, an API that
    KRaft brokers lack. Brokers before 2.8 need ZooKeeper.

    Args:
        newest: as for ``release_of``.

    Source: Kafka 3.9 ``LeaderAndIsrRequest.json`` (its listeners), ``ApiMessageType``.
    """
    return release_of(newest) >= _FIRST_WITHOUT and _LEADER_AND_ISR not in newest
