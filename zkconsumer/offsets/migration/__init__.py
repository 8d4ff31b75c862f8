"""A group's offsets carried from ZooKeeper to Kafka, or back, while no member is alive."""
