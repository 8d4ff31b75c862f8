"""The settings of a ``KafkaConsumer``: their tables, their reading, and what is no plain value."""
