"""zkconsumer: the Python consumer for Kafka clusters of the ZooKeeper era."""
