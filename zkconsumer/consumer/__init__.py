"""The poll API: ``KafkaConsumer``, over a coordinator's group, a ZooKeeper group, or none."""
