"""A member of a coordinator's group (Kafka 0.9 and later)."""
