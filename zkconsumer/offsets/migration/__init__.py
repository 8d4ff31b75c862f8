"""A group's offsets carried from ZooKeeper to Kafka, or back, while nobody reads."""
