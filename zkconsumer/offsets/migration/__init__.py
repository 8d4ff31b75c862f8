"""Migrates a group's offsets from ZooKeeper to Kafka, or back, while no member is alive."""
