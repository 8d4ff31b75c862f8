"""Converts the settings of a ``KafkaConsumer`` into those of a member of a ZooKeeper group."""

import logging
from collections.abc import Mapping
from typing import Final

from zkconsumer.config import ConsumerConfig
from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import ConfigError

log = logging.getLogger(__name__)

_STRATEGIES: Final = ("range", "roundrobin")
"""The strategies that Scala members support."""

_REPLACED: Final[Mapping[str, str]] = {
    "auto.commit.enable": "give enable_auto_commit",
    "fetch.wait.max.ms": "give fetch_max_wait_ms",
    "fetch.message.max.bytes": "give max_partition_fetch_bytes",
    "socket.timeout.ms": "give request_timeout_ms",
    "socket.receive.buffer.bytes": "give receive_buffer_bytes",
    "delivery": "commit() before or after your work decides that",
    "poison.policy": "poll() raises PartitionFailed, and seek() skips what can't be read",
    "poison.dead.letter.file": "poll() raises PartitionFailed, with what can't be read",
}
"""Settings of the connector, and what the poll API has in their place."""

_WITHOUT_EFFECT: Final = (
    "num.consumer.fetchers",
    "queued.max.message.chunks",
    "queued.max.bytes",
    "refresh.leader.backoff.ms",
)
"""Settings of streams and their fetchers that have no effect on a poll."""


def consumer_config(config: PollConfig) -> ConsumerConfig:
    """Return the settings of the member; those of fetching are not used.

    Raises:
        ConfigError: a setting can't be used with a ZooKeeper group, or with poll.
    """
    for key, advice in _REPLACED.items():
        if key in config.zookeeper:
            raise ConfigError(f"{key} is a setting of streams; with poll: {advice}")
    for key in _WITHOUT_EFFECT:
        if key in config.zookeeper:
            log.info("setting %s is accepted but has no effect with poll", key)
    return ConsumerConfig(
        {
            **config.zookeeper,
            "zookeeper.connect": config.zookeeper_connect,
            "group.id": config.group_id,
            "client.id": config.client_id,
            "auto.commit.enable": config.enable_auto_commit,
            "exclude.internal.topics": config.exclude_internal_topics,
            "partition.assignment.strategy": _strategy(config),
        }
    )


def _strategy(config: PollConfig) -> str:
    known = [name for name in config.strategies if name in _STRATEGIES]
    if not known:
        raise ConfigError(
            f"partition_assignment_strategy is {config.partition_assignment_strategy}: members of "
            f"a ZooKeeper group support {' and '.join(_STRATEGIES)}, and all must use the same"
        )
    return known[0]
