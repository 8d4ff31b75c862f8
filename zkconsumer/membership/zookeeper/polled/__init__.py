"""A ZooKeeper group behind the poll API: a member whose caller polls."""

from zkconsumer.membership.zookeeper.polled.group import ZookeeperGroup, open_zookeeper_group

__all__ = ["ZookeeperGroup", "open_zookeeper_group"]
