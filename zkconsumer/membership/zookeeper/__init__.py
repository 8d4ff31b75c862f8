"""A member of a ZooKeeper group, whose members compute their assignment themselves."""
