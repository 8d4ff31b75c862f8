"""A member of a ZooKeeper group, which shares its partitions out by itself."""
