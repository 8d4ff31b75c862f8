"""On real threads: what the unit tests of the same name do not hold."""

from zkconsumer import KafkaConsumer


def test_the_defaults_are_a_map_with_a_copy() -> None:
    """Programs copy it and make consumers of that."""
    defaults = KafkaConsumer.DEFAULT_CONFIG.copy()
    assert defaults["max_poll_records"] == 500
    assert {"bootstrap_servers", "api_version", "kafka_client", "ssl_context"} <= defaults.keys()
    defaults["bootstrap_timeout_ms"] = 0
    with KafkaConsumer(**defaults) as consumer:  # type: ignore[arg-type]
        assert dict(consumer.config) == defaults
