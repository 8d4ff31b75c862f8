"""The decisions of a ZooKeeper member: events in, actions out. Pure."""
