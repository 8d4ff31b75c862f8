"""ZooKeeper: paths and node contents (pure), the store (a wrapper of kazoo), the registry."""
