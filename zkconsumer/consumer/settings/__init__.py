"""The settings of a ``KafkaConsumer``: tables, reading, and objects such as deserialisers."""
