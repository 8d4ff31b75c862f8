"""The settings of a ``KafkaConsumer`` as its member in a ZooKeeper group has them."""

import pytest

from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.zookeeper_settings import consumer_config
from zkconsumer.errors import ConfigError


def config(**settings: object) -> PollConfig:
    """For a ZooKeeper group."""
    return PollConfig({"zookeeper.connect": "zk:1/c", "group.id": "g", **settings})


def test_what_both_have_is_passed_on_and_what_only_the_group_has_too() -> None:
    """Kafka's own defaults of that time for the rest."""
    given = consumer_config(
        config(
            client_id="c",
            enable_auto_commit=False,
            exclude_internal_topics=False,
            consumer_id="me",
            rebalance_max_retries=9,
            offsets_storage="kafka",
        )
    )
    assert (given.zookeeper_connect, given.group_id) == ("zk:1/c", "g")
    assert (given.client_id, given.consumer_id) == ("c", "me")
    assert (given.auto_commit_enable, given.exclude_internal_topics) == (False, False)
    assert (given.rebalance_max_retries, given.rebalance_backoff_ms) == (9, 2_000)
    assert given.offsets_storage == "kafka"


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        (None, "range"),
        ("roundrobin", "roundrobin"),
        ("cooperative-sticky,roundrobin,range", "roundrobin"),
    ],
)
def test_the_first_strategy_that_scala_members_know_is_taken(
    strategies: str | None, expected: str
) -> None:
    """All members must use the same, and there is no way to agree on one."""
    given = config(partition_assignment_strategy=strategies)
    assert consumer_config(given).partition_assignment_strategy == expected


def test_a_strategy_that_they_do_not_know_is_refused() -> None:
    """It would be another than that of the others."""
    with pytest.raises(
        ConfigError, match="members of a ZooKeeper group support range and roundrobin"
    ):
        consumer_config(config(partition_assignment_strategy="sticky"))


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("auto.commit.enable", "give enable_auto_commit"),
        ("fetch.message.max.bytes", "give max_partition_fetch_bytes"),
        ("delivery", "commit"),
        ("poison.policy", "PartitionFailed"),
    ],
)
def test_settings_of_streams_say_what_to_give_instead(key: str, advice: str) -> None:
    """Rather than being passed over in silence."""
    with pytest.raises(ConfigError, match=rf"{key} is a setting of streams; .*{advice}"):
        consumer_config(config(**{key: "1"}))


def test_settings_without_effect_are_noted(caplog: pytest.LogCaptureFixture) -> None:
    """They change nothing that a program could count on."""
    caplog.set_level("INFO")
    consumer_config(config(num_consumer_fetchers=3))
    assert "num.consumer.fetchers is accepted but has no effect with poll" in caplog.text
