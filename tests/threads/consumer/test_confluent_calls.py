"""Calls of confluent-kafka's API, on real threads (the unit tests hold the rest)."""

from zkconsumer import KafkaConsumer


def test_the_default_configuration_can_be_copied() -> None:
    """Programs change a copy of it, and create consumers from that."""
    defaults = KafkaConsumer.DEFAULT_CONFIG.copy()
    assert defaults["max_poll_records"] == 500
    assert {"bootstrap_servers", "api_version", "kafka_client", "ssl_context"} <= defaults.keys()
    defaults["bootstrap_timeout_ms"] = 0
    with KafkaConsumer(**defaults) as consumer:  # type: ignore[arg-type]
        assert dict(consumer.config) == defaults
