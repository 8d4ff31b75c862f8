"""Refuses mirrors that would read their own output for ever."""

import logging
import random
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace

from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.config_zookeeper import read_security
from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import ConfigError
from zkconsumer.mirror.settings import CLIENT_ID, MirrorSettings
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.security import security_in
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.live_brokers import live_brokers

log = logging.getLogger(__name__)

_SESSION_MS = 10_000
_BACKOFF_MS = 100

Address = tuple[str, int]


def refuse_cycles(settings: MirrorSettings) -> None:
    """Compare the brokers of source and target; if they share any, check the topics.

    Raises:
        ConfigError: a topic would be mirrored into one that is mirrored, too.
        ZkConsumerError: a cluster can't be reached.
    """
    there = _brokers(settings.target.client)[0]
    for consumer in settings.consumers:
        here, topics = _source(consumer)
        if not any(settings.topics.allows(topic, exclude_internal=True) for topic in topics):
            log.warning(
                "no topic of the source passes the filter %s now: there is nothing to mirror yet",
                settings.topics.pattern,
            )
        if here & there:
            cycle = cycle_of(settings, topics)
            if cycle is not None:
                raise ConfigError(
                    f"source and target are the same cluster, and topic {cycle[0]} would be "
                    f"mirrored into {cycle[1]}, which is mirrored, too: give another "
                    "--target-bootstrap-servers, or a --topic-prefix that the filter excludes"
                )


def cycle_of(settings: MirrorSettings, topics: Collection[str]) -> tuple[str, str] | None:
    """Return a topic and its copy if the copy would be mirrored again, else None; pure.

    Args:
        settings: the settings of a mirror whose source and target are one cluster.
        topics: the names of the cluster's topics.
    """
    for topic in sorted(topics):
        copy = settings.topic_prefix + topic
        if settings.topics.allows(topic, exclude_internal=True) and (
            copy == topic or settings.topics.allows(copy, exclude_internal=True)
        ):
            return topic, copy
    return None


def _source(consumer: Mapping[str, object]) -> tuple[frozenset[Address], frozenset[str]]:
    """Return the brokers of a source, and its topics."""
    config = PollConfig(consumer)
    client = ClientSettings(
        client_id=CLIENT_ID,
        timeout_ms=config.request_timeout_ms,
        bootstrap=config.bootstrap_brokers(),
        security=security_in(
            config.security_values,
            ssl_context=config.objects.ssl_context,
            token_provider=config.objects.sasl_oauth_token_provider,
        ),
    )
    if config.zookeeper_connect is None:
        return _brokers(client)
    store = kazoo_store.connect(
        config.zookeeper_connect,
        session_timeout_ms=_SESSION_MS,
        connection_timeout_ms=_SESSION_MS,
        security=read_security(config.zookeeper),
    )
    try:
        registered = live_brokers(store, config.zookeeper_connect, config.security_protocol)
    finally:
        store.close()
    here, topics = _brokers(replace(client, bootstrap=tuple(registered)))
    return here | {(broker.host, broker.port) for broker in registered}, topics


def _brokers(client: ClientSettings) -> tuple[frozenset[Address], frozenset[str]]:
    """Return the addresses of a cluster's brokers, and its topics."""
    with ExitStack() as stack:
        dialer = dialer_of(client)
        stack.callback(dialer.stop)
        cluster = ClusterClient(
            dialer,
            client.bootstrap,
            request_timeout_ms=client.timeout_ms,
            retry_backoff_ms=_BACKOFF_MS,
            shuffle=random.shuffle,
        )
        stack.callback(cluster.stop)
        view = cluster.view(None, timeout_ms=client.timeout_ms)
        addresses = frozenset((broker.host, broker.port) for broker in view.brokers.values())
        return addresses, frozenset(view.partitions)
