"""Connects to the ZooKeeper of a query's cluster, on the driver only."""

from zkconsumer.spark.address import ClusterAddress
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.store import ZkStore


def open_zookeeper(address: ClusterAddress) -> ZkStore:
    """Connect to ZooKeeper over a session that the caller closes.

    Args:
        address: an address that includes ZooKeeper.

    Raises:
        ConfigError: a file that its security settings name can't be used.
        RegistryError: ZooKeeper does not respond, or refuses our authentication.
    """
    assert address.zookeeper_connect is not None, "called only with ZooKeeper"
    return connect(
        address.zookeeper_connect,
        session_timeout_ms=address.session_timeout_ms,
        connection_timeout_ms=address.connection_timeout_ms,
        security=address.security,
    )
