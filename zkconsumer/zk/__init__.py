"""ZooKeeper: paths and node contents (pure), the store (kazoo behind a door), the registry."""
